# One image for the three roles; docker-compose.yml gives each its command.
FROM python:3.12-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY pyproject.toml README.md ./
COPY db db
COPY server server
COPY tilewright tilewright
COPY tuner tuner
COPY workers workers
RUN pip install --no-cache-dir '.[server,tuner]'

# Volumes take the owner of the folders they are mounted over.
RUN useradd --create-home tilewright && install -d -o tilewright /data /tokens
USER tilewright
EXPOSE 8765
ENTRYPOINT ["tilewright"]
CMD ["up", "--data", "/data"]
