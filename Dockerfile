# xlate in a container.
#
#   docker build -t xlate .                                          CPU, slim
#   docker build -t xlate --build-arg TORCH_INDEX=URL .              torch wheels from the index at URL
#   docker build -t xlate:cuda --build-arg BASE=CUDA_IMAGE \
#                --build-arg TORCH_INDEX=URL .                       on a CUDA base image with Python 3.11 or newer
#   docker run --rm -v "$PWD:/home/xlate/here" -w /home/xlate/here xlate demo
#
# Mounted folders must be writable for the user inside, number 1000: add --user "$(id -u):$(id -g)" where yours differs.
ARG BASE=python:3.12-slim
FROM ${BASE}

# An index whose torch wheels are built for this base; without one, pip's own index is used.
ARG TORCH_INDEX=""

# Slim images bring Python but no OpenMP runtime, which torch and numba load; other bases may lack Python.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 \
    && if ! command -v python3 > /dev/null; then \
         apt-get install --yes --no-install-recommends python3 python3-venv; \
       fi \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "BASE needs Python 3.11 or newer")' \
    && python3 -m venv /opt/xlate

ENV PATH=/opt/xlate/bin:$PATH \
    PYTHONUNBUFFERED=1 \
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
COPY pyproject.toml README.md ./
COPY conf ./conf
COPY xlate ./xlate
RUN pip install -c constraints.txt . && rm -rf /tmp/source

# Any user number may be given at run time, so what is cached must lie where anyone can write.
ENV NUMBA_CACHE_DIR=/tmp/xlate/numba MPLCONFIGDIR=/tmp/xlate/matplotlib
RUN if ! id -u 1000 > /dev/null 2>&1; then useradd --uid 1000 --create-home xlate; fi \
    && mkdir -p /home/xlate && chown 1000 /home/xlate
USER 1000
WORKDIR /home/xlate
ENTRYPOINT ["xlate"]
CMD ["--help"]
