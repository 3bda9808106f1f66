/** What is wrong, and what to do (`its address`: whichever variable names it), for somebody who does not speak the language of sockets, certificates and SQLSTATEs. */
export type PlainWords = {
  /** Undefined where the error's own words are plain. */
  what: string | undefined;
  mend: string;
};

const says = (what: string | undefined, mend: string): PlainWords => ({ what, mend });

/** By the code of a system's or driver's error, or by its words where it has none; the first that fits. */
const known: readonly [pattern: RegExp, words: PlainWords][] = [
  [
    /^CERT_HAS_EXPIRED/,
    says('the certificate of the server has expired', 'let its owner renew it; or set the clock of this machine'),
  ],
  [/^CERT_NOT_YET_VALID/, says('the certificate of the server is not valid yet', 'set the clock of this machine')],
  [
    /^(ERR_TLS_CERT_ALTNAME_INVALID)/,
    says('the certificate of the server is for another host name', 'write the name that it is for in its address'),
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_)/,
    says(
      'the certificate of the server is of nobody that this machine trusts (self-signed, or its chain is not sent)',
      'name its authority’s file in NODE_EXTRA_CA_CERTS, or let the server send a public one, with its chain',
    ),
  ],
  [
    /^(ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|EPROTO)|packet length too long|wrong version number/,
    says(
      'the server does not speak TLS at this port',
      'write http:// or redis:// in its address, or the port that has TLS',
    ),
  ],
  [
    /plain HTTP request was sent to HTTPS port/,
    says('the server wants TLS at this port', 'write https:// in its address'),
  ],
  [
    /^HPE_|^Response does not match the HTTP|^Expected HTTP/,
    says('what answers at this port does not speak HTTP', 'correct the port in its address, or write https:// for TLS'),
  ],
  [
    /Unknown RESP type|Protocol error, got/,
    says('what answers at this port is no Redis', 'correct the port in its address'),
  ],
  [/does not support SSL/, says('the server has no TLS', 'leave sslmode out of its address, or give the server TLS')],
  [
    /no pg_hba\.conf entry.*(no encryption|SSL off)/,
    says(
      'the server takes no connection like this one, such as one without TLS',
      'add ?sslmode=require to its address',
    ),
  ],
  [
    /no pg_hba\.conf entry/,
    says('the server takes no connection of this user from this machine', 'let it, in its pg_hba.conf'),
  ],
  [/^28P01$|^WRONGPASS/, says('user or password are wrong', 'correct them in its address')],
  [/SASL.*password must be a string|^NOAUTH/, says('the server wants a password', 'put it into its address')],
  [
    /^28[0-9A-Z]{3}$/,
    says(
      'the server does not let this user in',
      'correct user and password in its address, or let the server accept them (pg_hba.conf)',
    ),
  ],
  [/^3D000$/, says(undefined, 'create the database, or correct its name in its address')],
  [/^42501$|^NOPERM/, says(undefined, 'grant the user this right, or migrate and run as the same user')],
  [
    /^(53100|ENOSPC)$|No space left on device/,
    says('the disk of the server is full', 'make room; nothing is lost, the next run goes on'),
  ],
  [
    /^53200$|^OOM /,
    says('the memory of the server is full', 'give it more; or see what else fills it, and the next run goes on'),
  ],
  [
    /^53300$|remaining connection slots|too many clients|max number of clients reached/,
    says('the server has no connection left to give', 'raise max_connections or run fewer processes'),
  ],
  [
    /^25006$|^READONLY/,
    says('the server is a standby or read-only, and takes no writes', 'name the primary in its address'),
  ],
  [/^57P03$|^LOADING/, says('the server is starting or stopping', 'wait until it is up')],
  [/^57P01$/, says('the server ended the connection, as when it is restarted', 'wait until it is up')],
  [
    /^57014$/,
    says('the statement took too long', 'see why it is slow: a missing index, a lock, a server that is overloaded'),
  ],
  [/^55P03$/, says('somebody else holds a lock on the table', 'let them finish, or end their session')],
  [
    /^(58|XX|F0)[0-9A-Z]{3}$/,
    says('the server has met an error of its own', 'see its log: its disk or its files may be damaged'),
  ],
  [/^ECONNREFUSED/, says('nothing listens there', 'start the server, or correct host and port in its address')],
  [
    /^ENOTFOUND/,
    says('there is no host of this name', 'correct the host name in its address, or mend the name server'),
  ],
  [/^EAI_AGAIN/, says('the name server does not answer', 'mend the network or the name server of this machine')],
  [
    /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)/,
    says('no connection comes about', 'open the firewall, or correct host and port in its address'),
  ],
  [
    /^UND_ERR_(HEADERS|BODY)_TIMEOUT/,
    says('it accepts the connection, but does not answer', 'see whether it is overloaded or hangs, and restart it'),
  ],
  [
    /^(Connection terminated due to connection timeout|timeout expired|timeout exceeded when trying)/,
    says(
      'it does not answer',
      'see whether it hangs or a firewall is in between, and whether host and port in its address are right',
    ),
  ],
  [
    /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_CLOSED|Connection is closed|Connection terminated|socket hang up)/,
    says(
      'it broke the connection off',
      'see whether it is being restarted, or a proxy ends connections; and whether the port is right (TLS or not)',
    ),
  ],
];

/** Undefined where an error speaks for itself. Of an error and its causes the first that is known counts. */
export function plainWordsOf(error: unknown, { causes = true } = {}): PlainWords | undefined {
  const seen = new Set<unknown>();
  for (let at = error; at instanceof Error && !seen.has(at); at = causes ? at.cause : undefined) {
    seen.add(at);
    // A name with several addresses fails with an AggregateError, whose parts say why.
    const told = at instanceof AggregateError && at.errors[0] instanceof Error ? at.errors[0] : at;
    const code = 'code' in told && typeof told.code === 'string' ? told.code : undefined;
    // Ours, in lower case, speak for themselves; what caused them may not.
    if (code !== undefined && /^[a-z]/.test(code)) continue;
    const found = known.find(([pattern]) => (code !== undefined && pattern.test(code)) || pattern.test(told.message));
    if (found) return found[1];
  }
  return undefined;
}
