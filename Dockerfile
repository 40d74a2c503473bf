# One image for everything: web, workers, gatekeeper and the Pods of a search, so that search, merge and format are of
# one BLAST+. What it runs is what `make setup` runs; tests/test_image.py compares them. BASE: a Debian with BLAST+ of
# its own, or another image that has BLAST+ on PATH (docs/configuration.md, COORDUI_BLAST_IMAGE).
ARG BASE=debian:bookworm-slim
FROM ${BASE}
WORKDIR /opt/coordui
ENV LANG=C.UTF-8 \
    PYTHONUNBUFFERED=1 \
    PATH=/opt/coordui/.venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Lists of packages and downloads stay out of the layers.
COPY scripts/setup.sh scripts/
RUN --mount=type=tmpfs,target=/var/lib/apt/lists --mount=type=tmpfs,target=/var/cache/apt \
    scripts/setup.sh blast
COPY requirements.txt pyproject.toml README.md LICENSE manage.py ./
COPY coordui coordui/
COPY submits submits/
RUN --mount=type=tmpfs,target=/var/lib/apt/lists --mount=type=tmpfs,target=/var/cache/apt \
    --mount=type=tmpfs,target=/root/.cache \
    scripts/setup.sh environment .venv requirements.txt
COPY templates templates/
COPY static static/
COPY scripts/blast_facts.py scripts/
COPY deploy/engine deploy/engine/

# It writes nothing here. What it keeps is in COORDUI_STATE, which is mounted; what it needs for a moment in /tmp.
ENV COORDUI_STATE=/srv/coordui HOME=/tmp PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
EXPOSE 8000
CMD ["python", "manage.py", "up"]
