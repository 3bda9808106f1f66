# review-sync as an image: `docker run --env-file .env review-sync worker`, or any other command in place of `worker`.
# Node runs the TypeScript as it stands, so nothing is compiled. The version is the one that the tests run on.
FROM node:24.21.0-bookworm-slim AS base
WORKDIR /app

FROM base AS dependencies
COPY package.json package-lock.json ./
# Without the optional packages: they are the embedded Postgres' binaries, which only demo and tests use, and a faster
# decoder of BullMQ's that it does without. So `demo` does not run in the image, `reference-service` only with --database-url.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM base
ENV NODE_ENV=production
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
# The folder of the example holds code that the command line imports; mount your own shop queries over /app/sql/shop.
COPY examples ./examples
COPY sql ./sql
COPY jobs ./jobs
COPY src ./src

# Nothing in /app belongs to this user: the program writes to its databases only.
USER node
STOPSIGNAL SIGTERM
# Exit 0 when warehouse and queue answer and the warehouse is migrated. The report itself is not kept; what is wrong is
# written to standard error, which `docker inspect` shows.
HEALTHCHECK --interval=60s --timeout=20s --start-period=30s --retries=3 \
  CMD node src/cli/main.ts status --json > /dev/null
ENTRYPOINT ["node", "/app/src/cli/main.ts"]
CMD ["worker"]
