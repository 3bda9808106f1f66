/**
 * Whether a host, with or without the brackets of IPv6, is this machine for every resolver. A name such as
 * 127.example.com may have any address.
 */
export const isLoopback = (host: string) => /^(localhost|\[?::1\]?|127(\.\d{1,3}){3})$/.test(host);
