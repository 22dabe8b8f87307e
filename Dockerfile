# The services: workers, aggregators and the command. The wheel holds the package tribunal alone, the image the rest too.
FROM python:3.11-slim

WORKDIR /app
COPY pyproject.toml constraints.txt README.md ./
COPY tribunal tribunal
COPY workers workers
COPY aggregation aggregation
COPY producers producers
RUN pip install --no-cache-dir -c constraints.txt -e '.[postgres]' \
    && useradd --create-home --uid 10001 tribunal \
    && install -d -o tribunal -g tribunal /app/output

USER tribunal
ENV PYTHONUNBUFFERED=1 TRIBUNAL_OUTPUT_DIR=/app/output
ENTRYPOINT ["python", "-P", "-m"]
CMD ["aggregation"]
