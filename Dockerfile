# scripts/smoke/check-container.mjs runs what stands here, instruction by instruction, where no container engine is.
FROM oven/bun:1.4.5-slim AS console
WORKDIR /app
COPY package.json bun.lockb bunfig.toml ./
RUN bun install --frozen-lockfile --ignore-scripts
COPY scripts/console scripts/console
COPY scripts/task scripts/task
COPY src/console src/console
COPY tsconfig.json ./
RUN bun scripts/task/build-console.mjs

FROM oven/bun:1.4.5-slim AS build
WORKDIR /app
COPY package.json bun.lockb bunfig.toml ./
COPY scripts/prepare-embedded-database.mjs scripts/check-health.mjs scripts/
RUN bun install --frozen-lockfile --production
RUN bun scripts/prepare-embedded-database.mjs
COPY drizzle drizzle
COPY scripts/backup scripts/backup
COPY scripts/restore scripts/restore
COPY scripts/reset-password scripts/reset-password
COPY scripts/given-path.ts scripts/
COPY scripts/task/load-environment-file.mjs scripts/task/with-environment-file.mjs scripts/task/
COPY src src
# What is served of the console is what was built of it.
RUN rm -r src/console

# execute_shell (TOOL_SHELL_ENABLED) needs more than this image has: docs/tools.md, "The shell".
FROM oven/bun:1.4.5-slim
WORKDIR /app
COPY --from=build /app ./
COPY --from=console /app/dist/console dist/console
RUN mkdir -m 700 data && chown 1000:1000 data
# Bun's `fetch` opens 256 connections at once unless told otherwise before it starts.
ENV BUN_CONFIG_MAX_HTTP_REQUESTS=65336
# Bun collects garbage as late as the machine's memory lets it; with this many bytes it begins above a quarter of them.
ENV BUN_JSC_forceRAMSize=1073741824
# Free memory goes back to the system after seconds: under load it is taken again at once, which costs more than to keep it.
ENV MIMALLOC_PURGE_DELAY=10000
ENV MIMALLOC_PURGE_HOLES_MIN_INTERVAL=2000
# Every program here reads a .env as tasks do: Bun would take a `$` in a value for the name of another variable.
ENV BUN_OPTIONS="--no-env-file --import ./scripts/task/with-environment-file.mjs"
ENV DATA_DIR=/app/data
ENV PORT=8080
USER 1000:1000
VOLUME /app/data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s CMD ["bun", "scripts/check-health.mjs"]
# The server itself is the first process, so that SIGTERM reaches it and open streams may end.
STOPSIGNAL SIGTERM
CMD ["bun", "src/main.ts"]
