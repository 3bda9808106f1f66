#!/usr/bin/env bash
# `npm run test:image`: builds the Dockerfile with Buildah and runs the image against databases of this machine.
#
#     npm run test:image
#     npm run test:image -- --base <image>    in place of the Dockerfile's Node, such as one of `buildah images`
#
# The isolation `chroot` needs no service and no container runtime, and shares the network and the process ids of the host.
# Prints one line a claim. Exit status 1 if a claim does not hold; 0 if Buildah is not installed.
set -uo pipefail
cd "$(dirname "$0")/.."

command -v buildah >/dev/null || { echo 'SKIPPED: Buildah is not installed (on Debian: apt-get install buildah).'; exit 0; }
base=()
[ "${1:-}" = --base ] && base=(--from "$2")
name=review-sync-test-$$
work=$(mktemp -d)
demo=
finish() {
  [ -n "$demo" ] && kill "$demo" && wait "$demo"
  buildah rm "$name" && buildah rmi "localhost/$name"
  rm -rf "$work"
}
trap 'finish >/dev/null 2>&1' EXIT

failed=0
# claim <text> <command …>: one line, and the end of the command's output if it fails.
claim() {
  local text=$1
  shift
  if "$@" >"$work/said" 2>&1; then echo "ok   $text"; return; fi
  echo "NOT  $text"
  tail -n 40 "$work/said"
  failed=1
}
# until_says <file> <text>: waits for the text, for ten minutes at most.
until_says() { timeout 600 sh -c 'until grep -q "$2" "$1"; do sleep 0.5; done' - "$work/$1" "$2"; }
# is <text> <command …>: the command succeeds and prints the text.
is() {
  local found
  found=$("${@:2}") && [ "$found" = "$1" ] && return
  echo "expected $1, found: $found"
  return 1
}

claim 'the Dockerfile builds' buildah bud --isolation chroot --format docker --tag "localhost/$name" "${base[@]}" .
[ "$failed" = 0 ] || { echo 'Where no registry of images can be reached, name an image with Node and npm by --base.'; exit 1; }

# A shop of 60 orders and a service with 400 reviews of it. The warehouse is a new one.
node src/cli/main.ts demo --keep --orders 60 >"$work/demo" 2>&1 &
demo=$!
until_says demo 'the review service  *http' || { cat "$work/demo"; exit 1; }
address() { sed -n "/^ *the $1/s|.* \(\w*://\S*\).*|\1|p" "$work/demo"; }
warehouse=$(address warehouse | sed 's|/[^/]*$|/image|')
client='new (require("pg").Client)(process.argv[1])'
node -e "const c = $client; c.connect().then(() => c.query('create database image')).then(() => c.end())" "$(address warehouse)"

buildah from --name "$name" "localhost/$name" >/dev/null
run() {
  buildah run --isolation chroot --env "SHOP_DATABASE_URL=$(address shop)" --env SHOP_TIME_ZONE=Asia/Seoul \
    --env "WAREHOUSE_DATABASE_URL=$warehouse" --env "REVIEW_API_BASE_URL=$(address 'review service')" \
    --env REVIEW_API_CLIENT_ID=demo --env REVIEW_API_CLIENT_SECRET=demo "$name" -- "$@"
}
config() {
  buildah inspect --type image "localhost/$name" |
    node -p "JSON.parse(require('fs').readFileSync(0, 'utf8')).Docker.config.$1.join(' ')"
}
read -ra program <<<"$(config Entrypoint)"

claim 'it runs as uid 1000' is 1000 run id -u
claim 'its user can change nothing in /app' is '' run find /app -writable -not -type l -print -quit
claim '/app holds what the program needs, and no .env' \
  is 'LICENSE examples jobs node_modules package.json sql src' run sh -c 'echo $(ls -A /app)'
for command in migrate 'sync catalog' 'sync reviews' 'sync orders' 'verify reviews' 'verify orders'; do
  claim "$command ends with status 0" run "${program[@]}" $command
done

claim 'a backfill can be left to a worker' run "${program[@]}" backfill reviews --from 2024-01-01 --detach
# The shell becomes the worker and keeps its process id: a signal to Buildah would kill the worker at once.
run sh -c 'echo "pid $$" && exec "$@"' sh "${program[@]}" $(config Cmd) >"$work/worker" 2>&1 &
worker=$!
claim 'the default command is a worker; it runs a backfill that another container enqueued' until_says worker 'backfill-reviews: done'
run sh -c "kill -TERM $(sed -n 's/^pid //p' "$work/worker")"
claim 'SIGTERM ends the worker with status 0' wait "$worker"
exit "$failed"
