# Image that measures on the CPUs of its host: programs by default, models with the extras of EXTRAS (comma-separated).
#
#   docker build -t edge-harness .
#   docker build -t edge-harness:executorch --build-arg EXTRAS=vision .
#   docker build -t edge-harness:lab --build-arg EXTRAS=lab,server .
#   docker run --rm -v "$PWD:/work" edge-harness run -b my.json
#   docker run --rm --cpuset-cpus 2,3 -v "$PWD:/work" edge-harness compare -b my.json --control-program a --treatment-program b
#
# Results and caches are in /data; keep them with a volume: -v edge-harness:/data.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS install
ARG EXTRAS=""
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY harness harness
COPY platforms platforms
COPY frameworks frameworks
COPY reporters reporters
COPY specifications specifications
# As in the Makefile: torch and torchvision alone from their index, everything by the versions of the tested set. Extras
# that run no model need neither, nor the compiler and CMake that make the native runner.
RUN python -m venv /opt/harness \
 && needed="git" \
 && IFS=, \
 && for extra in $EXTRAS; do \
      case "$extra" in \
        data|lab|monsoon|parquet|postgresql|server|stand-ins) ;; \
        *) needed="git g++ cmake make" ;; \
      esac; \
    done \
 && unset IFS \
 && echo "$needed" > /opt/harness/system-packages \
 && if [ "$needed" != "git" ]; then \
      /opt/harness/bin/pip install --constraint constraints.txt --no-deps --index-url "$TORCH_INDEX" torch torchvision; \
    fi \
 && /opt/harness/bin/pip install --constraint constraints.txt ".${EXTRAS:+[$EXTRAS]}"

FROM python:${PYTHON}-slim
COPY --from=install /opt/harness /opt/harness
# taskset is in util-linux, which the base has; git reads commits.
# hadolint ignore=DL3008
RUN apt-get update \
 && xargs apt-get install --yes --no-install-recommends < /opt/harness/system-packages \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 harness \
 && mkdir /data /work \
 && chown 1000:1000 /data /work
ENV PATH=/opt/harness/bin:$PATH \
    HARNESS_CACHE_DIR=/data/cache \
    HARNESS_LOCAL_REPORTER=/data/results \
    HARNESS_CONFIG_DIR=/data/config
USER 1000
WORKDIR /work
VOLUME /data
ENTRYPOINT ["harness"]
CMD ["--help"]
