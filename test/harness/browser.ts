import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The Chromium of the path. With REQUIRE_CHROMIUM=1 its absence is an error: CI must not skip. */
export const chromiumPath: string | undefined = (() => {
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((file) => existsSync(file));
  if (!found && process.env.REQUIRE_CHROMIUM === '1') {
    throw new Error('REQUIRE_CHROMIUM=1, but there is no chromium on the path');
  }
  return found;
})();

/** Headless, and talking to nobody by itself. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(chromiumPath !== undefined && { executablePath: chromiumPath }),
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
      ...['--disable-background-networking', '--disable-component-update'],
    ],
  });
}
