/**
 * Whether an address leads over a foreign network without TLS. Addresses of this machine, private networks
 * and names without a domain, as containers have, do not count.
 */
export function isUnencrypted(address: string): boolean {
  const url = new URL(address);
  const host = url.hostname.replaceAll(/[[\]]/g, '').toLowerCase();
  return isOfOthers(host) && !hasTls(url);
}

function isOfOthers(host: string): boolean {
  if (!/[.:]/.test(host) || /\.(local|internal|localhost)$/.test(host)) return false;
  if (host.includes(':')) return !/^(::1$|f[cd][0-9a-f]{2}:|fe80:)/.test(host);
  return !/^[\d.]+$/.test(host) || !/^(127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.)/.test(host);
}

function hasTls({ protocol, searchParams }: URL): boolean {
  if (protocol === 'rediss:' || protocol === 'https:') return true;
  const ssl = searchParams.get('ssl') ?? '';
  const mode = searchParams.get('sslmode') ?? '';
  if (['true', '1', 'no-verify'].includes(ssl)) return protocol !== 'redis:';
  return protocol.startsWith('postgres') && !['', 'disable', 'allow'].includes(mode);
}
