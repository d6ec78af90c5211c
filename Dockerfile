# The command pypgm, without a compiler on the machine that runs it:
#   docker build -t pypgm .
#   docker run --rm --network none --user "$(id -u):$(id -g)" -v "$PWD:/data" pypgm synth people.csv …
FROM python:3.13-slim-bookworm AS build
# Of the distribution's packages the newest are wanted, with their fixes.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim-bookworm
# OpenMP's runtime, for more than one thread.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
# hadolint ignore=DL3013
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    for wheel in /wheels/*.whl; do pip install --no-cache-dir "${wheel}[excel,fake,parquet,plot,report,yaml]"; done
RUN useradd --uid 10001 --create-home pypgm
USER 10001
# For any --user of `docker run`.
ENV MPLCONFIGDIR=/tmp
WORKDIR /data
ENTRYPOINT ["pypgm"]
CMD ["--help"]
