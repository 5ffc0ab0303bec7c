"""Tasks on several processors or machines, behind one interface: an executor of `concurrent.futures`.

A task is a function of paths and small settings. It writes finished files on a disk that all machines share, and leaves
alone what it finds finished, so a task may begin again anywhere. Every task runs in a process of its own, which the
executor starts: it may fork, its memory is freed at its end, and if it is killed the executor lives on. Its function is
passed by name and its arguments and result as JSON, so no data go through a scheduler.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from xlate.errors import InputError, Interrupted, refuse_if
from xlate.machine import LOOK, Stop, Stopped, end_with, never, termination_raised
from xlate.progress import Style, set_style, tell, track
from xlate.settings import COUNT, PROCESSES, key

log = logging.getLogger(__name__)
# How often a task begins again after its process or its machine failed.
RETRIES = 2
# Seconds to wait for a Dask scheduler.
PATIENCE = 30
EXTRA = 'pip install "xlate[cluster]"'
_children: set[subprocess.Popen[str]] = set()


@dataclass
class ClusterConfig:
    """Everything runs in this process."""

    name: str = "none"


@dataclass
class BoxConfig(ClusterConfig):
    """Several tasks at a time on this machine."""

    name: str = "box"
    workers: int | None = key("tasks at a time; null: one per core", None, PROCESSES)


@dataclass
class DaskConfig(ClusterConfig):
    """The workers of a Dask cluster."""

    name: str = "dask"
    scheduler_file: str | None = key("the file that dask scheduler --scheduler-file writes", None)
    address: str | None = key("or the address of the scheduler, such as tcp://10.0.0.1:8786", None)


@dataclass
class SlurmConfig(ClusterConfig):
    """Jobs of a Slurm array, one per task."""

    name: str = "slurm"
    workers: int = key("jobs at a time", 16, PROCESSES)
    minutes: int = key("time limit of a job", 60, COUNT)
    options: list[str] = key("options of sbatch, such as [partition=cpu,mem=8GB]", [])
    address: str | None = key("local: run the jobs on this machine, without Slurm, to try them out", None, ("local",))


CLUSTERS: dict[str, type[ClusterConfig]] = {
    "none": ClusterConfig,
    "box": BoxConfig,
    "dask": DaskConfig,
    "slurm": SlurmConfig,
}


class TaskFailed(Exception):
    """The process of a task failed or was killed; the task may begin again."""


def run_tasks(
    settings: ClusterConfig,
    folder: Path,
    function: Callable[..., Any],
    tasks: Sequence[Sequence[Any]],
    words: str,
    stop: Stop = never,
    done: Callable[[Any], object] | None = None,
) -> None:
    """Runs a function for every task in the cluster that the settings choose, with one line of progress for all.

    What still runs when an error ends it is ended too. Without tasks, no cluster is needed.

    Args:
        settings: any but those of `cluster=none`.
        folder: for the files of Slurm's jobs, on the shared disk.
        function: one of a module, with plain values as arguments and result. Relative paths are those of this process.
        tasks: the arguments of each task.
        words: what the tasks do, for the progress.
        stop: whether to stop.
        done: takes the result or the error of each task, in any order; without it, the first error is raised.

    Raises:
        InputError: a task raised it, or failed `RETRIES` + 1 times; an extra is not installed, or there is no
            scheduler.
        Stopped: `stop` became true.
    """
    if not tasks:
        return
    with _opened(settings, folder) as (executor, workers):
        for result in track(_results(executor, workers, function, tasks, stop), words, len(tasks)):
            if done is not None:
                done(result)
            elif isinstance(result, InputError):
                raise result


@contextlib.contextmanager
def _opened(settings: ClusterConfig, folder: Path) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """An executor, and the number of its workers."""
    if isinstance(settings, DaskConfig):
        with _client(settings) as client:
            # Failed tasks begin again below, with a message; those of a lost worker, by themselves.
            yield client.get_executor(pure=False), lambda: _dask_workers(client)
    elif isinstance(settings, SlurmConfig):
        with SlurmArrays(_jobs(settings, folder)) as jobs:
            yield jobs, jobs.workers
    elif isinstance(settings, BoxConfig):
        size = settings.workers or len(os.sched_getaffinity(0))
        threads = ThreadPoolExecutor(size)
        try:
            yield threads, lambda: size
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for process in list(_children):
                process.terminate()
            threads.shutdown()


def _results(
    executor: Executor,
    count_workers: Callable[[], int],
    function: Callable[..., Any],
    tasks: Sequence[Sequence[Any]],
    stop: Stop,
) -> Iterator[Any]:
    given = os.getcwd(), function.__module__, function.__name__
    waiting = {executor.submit(in_own_process, *given, task): (task, RETRIES) for task in tasks}
    workers = 0
    try:
        while waiting:
            done, _ = wait(waiting, LOOK, FIRST_COMPLETED)
            if stop():
                raise Stopped
            before, workers = workers, count_workers()
            if workers < before and not isinstance(executor, SlurmArrays):
                log.warning("%d of %d workers left", workers, before)
            tell(workers=workers)
            for future in done:
                task, retries = waiting.pop(future)
                try:
                    answer = future.result()
                except Exception as error:
                    if not retries:
                        remedy = "see the messages of the workers; run the command again to continue"
                        yield InputError("a task failed repeatedly", error, "tasks that end", remedy)
                        continue
                    log.warning("a task begins again: %s", str(error) or type(error).__name__)
                    waiting[executor.submit(in_own_process, *given, task)] = task, retries - 1
                    continue
                yield InputError(**answer["error"]) if "error" in answer else answer["result"]
    finally:
        for future in waiting:
            future.cancel()


def in_own_process(folder: str, module: str, name: str, arguments: Sequence[Any]) -> dict[str, Any]:
    """Runs a function of a module in a process of its own and in a folder: its `result`, or the fields of its `error`.

    Raises:
        TaskFailed: the process failed or was killed.
        OSError: it did not start; for example, there is no such folder.
    """
    # `-P`: modules come from where xlate is installed, not from the folder.
    command = [sys.executable, "-P", "-m", "xlate.cluster", module, name]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
        _children.add(process)
        answer = process.communicate(json.dumps(arguments))[0]
    _children.discard(process)
    if process.returncode:
        # Below 0 it is the number of a signal.
        raise TaskFailed(f"its process on {socket.gethostname()} ended with status {process.returncode}")
    made: dict[str, Any] = json.loads(answer)
    return made


def _run_task() -> None:
    """The process of a task, which ends when the one that started it is gone."""
    end_with(os.getppid())
    # What the task may print is not taken for its result.
    answers = os.dup(1)
    os.dup2(2, 1)
    # The process that gave the task shows the progress of all.
    set_style(Style.SILENT)
    try:
        with termination_raised():
            arguments = json.load(sys.stdin)
            answer = {"result": getattr(import_module(sys.argv[1]), sys.argv[2])(*arguments)}
    except InputError as error:
        # Without what its class adds.
        answer = {"error": {name: getattr(error, name) for name in vars(InputError(""))}}
    except Interrupted as error:
        sys.exit(error.status)
    with open(answers, "w", encoding="utf-8") as stream:
        json.dump(answer, stream, default=str)


def uses_cluster(settings: ClusterConfig) -> bool:
    """Whether tasks are to run elsewhere than in this process: with any settings but those of `cluster=none`.

    Raises:
        InputError: a Dask cluster without a scheduler: no address is set, nor a file that exists.
    """
    if isinstance(settings, DaskConfig):
        file, address = settings.scheduler_file, settings.address
        refuse_if(
            file is None or not Path(file).is_file() if address is None else file is not None,
            "cluster=dask needs a scheduler",
            f"cluster.scheduler_file={file} cluster.address={address}",
            "an address, or a file that dask scheduler --scheduler-file FILE has written",
        )
    return settings.name != ClusterConfig.name


def _client(settings: DaskConfig) -> Any:
    file, address = settings.scheduler_file, settings.address
    client = _of_extra("distributed", "Client")
    try:
        return client(address, scheduler_file=file, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        remedy = "check that it runs, and that this machine can reach it"
        raise InputError("no Dask scheduler", error, file or address, remedy) from error


def _dask_workers(client: Any) -> int:
    number: int | None = client.scheduler_info(0).get("n_workers")
    if number is None:
        remedy = "start a scheduler and workers, and run the command again to continue"
        raise InputError("the Dask scheduler is lost", client.status, "a scheduler that runs", remedy)
    return number


def _jobs(settings: SlurmConfig, folder: Path) -> Any:
    executor = _of_extra("submitit", "AutoExecutor")
    try:
        jobs = executor(folder, settings.address or "slurm")
        options = dict(f"slurm_{option}".split("=", 1) for option in settings.options)
        most = settings.workers
        jobs.update_parameters(timeout_min=settings.minutes, slurm_array_parallelism=most, **options)
    except (NameError, RuntimeError, ValueError) as error:
        expected = "a machine that can submit Slurm jobs, and options NAME=VALUE"
        raise InputError(
            "Slurm cannot be used", error, expected, "correct cluster.options, or use cluster=box"
        ) from error
    return jobs


def _of_extra(module: str, name: str) -> Any:
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise InputError("an extra that is not installed", module, "xlate[cluster]", EXTRA) from error


class SlurmArrays(Executor):
    """Jobs of submitit as an executor. Counting the workers submits jobs and takes results."""

    def __init__(self, jobs: Any) -> None:
        self._jobs = jobs
        self._given: list[tuple[Future[Any], Any]] = []
        self._submitted: dict[Future[Any], Any] = {}

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        """Gives a job to the next array."""
        future: Future[Any] = Future()
        self._given.append((future, (function, *arguments)))
        return future

    def workers(self) -> int:
        """Submits the jobs given so far as one array, takes the results of those that ended, and counts those that run.

        Raises:
            InputError: Slurm refuses them.
        """
        if self._given:
            try:
                with self._jobs.batch():
                    jobs = [self._jobs.submit(*call) for _, call in self._given]
            except RuntimeError as error:
                raise InputError("Slurm refuses the jobs", error, remedy="correct cluster.options") from error
            self._submitted |= zip((future for future, _ in self._given), jobs)
            self._given.clear()
        for future in [future for future, job in self._submitted.items() if job.done()]:
            try:
                future.set_result(self._submitted.pop(future).result())
            except Exception as error:  # whatever a job may end with
                future.set_exception(error)
        return sum(job.state == "RUNNING" for job in self._submitted.values())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Cancels the jobs that have not ended."""
        for job in self._submitted.values():
            job.cancel(check=False)


if __name__ == "__main__":
    _run_task()
