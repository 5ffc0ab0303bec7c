# xlate in a container.
#
#   docker build -t xlate --build-arg TORCH_INDEX=URL .              CPU, slim: URL is an index of torch's CPU wheels
#   docker build -t xlate .                                          torch as pip's own index has it
#   docker build -t xlate:cuda --build-arg CUDA=1 \
#                --build-arg TORCH_INDEX=URL .                       URL is an index of torch's wheels for your driver
#   docker run --rm -v "$PWD:/home/xlate/here" -w /home/xlate/here xlate demo
#   docker run --rm --gpus all … xlate:cuda train … device=cuda
#
# Which torch pip's own index has depends on the machine: on x86-64 Linux usually one with CUDA, gigabytes of it, on ARM
# one for the CPU. The last step says which it was. Wheels for CUDA bring its libraries with them, so the base stays the
# same; the host needs NVIDIA's driver and its container toolkit.
#
# ARM: nobody has built this image there yet. What has no wheel for ARM Linux is compiled from its sources, which takes
# PACKAGES="build-essential cmake"; sil-thot, the aligner, is the one to look at first.
#
# Mounted folders must be writable for the user inside, number 1000: add --user "$(id -u):$(id -g)" where yours differs.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build

# An index whose torch wheels are taken; without one, pip's own index is used.
ARG TORCH_INDEX=""
# 1: torch must be built for CUDA.
ARG CUDA=0
# Debian packages that are needed to compile what has no wheel; they do not get into the image.
ARG PACKAGES=""

# Bases other than the default may lack Python.
RUN apt-get update \
    && if ! command -v python3 > /dev/null; then PACKAGES="$PACKAGES python3 python3-venv"; fi \
    && apt-get install --yes --no-install-recommends libgomp1 $PACKAGES \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "BASE needs Python 3.11 or newer")' \
    && python3 -m venv /opt/xlate

ENV PATH=/opt/xlate/bin:$PATH \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /tmp/source
COPY constraints.txt ./
# torch has a layer of its own, which a change of the sources leaves alone. It is taken from its own index only, so
# that no other index answers for its name.
RUN if [ -n "$TORCH_INDEX" ]; then \
      sed -n 's/^torch==\([^+ ]*\).*/torch==\1/p' constraints.txt > torch.txt \
      && pip install --index-url "$TORCH_INDEX" --requirement torch.txt; \
    fi
COPY pyproject.toml README.md LICENSE ./
COPY conf ./conf
COPY xlate ./xlate
RUN pip install -c constraints.txt ".[serve]"
RUN wanted="$CUDA" python -c 'import os, sys, torch; has = torch.version.cuda; print("torch", torch.__version__, "CUDA", has); sys.exit("CUDA=1, and this torch has none: give TORCH_INDEX" if os.environ["wanted"] == "1" and not has else 0)'

FROM ${BASE}

# Slim images bring Python but no OpenMP runtime, which torch and numba load.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 \
    && if ! command -v python3 > /dev/null; then apt-get install --yes --no-install-recommends python3; fi \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/xlate /opt/xlate

# Any user number may be given at run time, so what is cached must lie where anyone can write.
ENV PATH=/opt/xlate/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/tmp/xlate/numba \
    MPLCONFIGDIR=/tmp/xlate/matplotlib
RUN if ! id -u 1000 > /dev/null 2>&1; then useradd --uid 1000 --create-home xlate; fi \
    && mkdir -p /home/xlate && chown 1000 /home/xlate
USER 1000
WORKDIR /home/xlate
ENTRYPOINT ["xlate"]
CMD ["--help"]
