const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** The characters in place of their HTML entities: `&#39;`, `&#039;`, `&#x27;` and `&apos;` are one apostrophe. */
export const withoutEntities = (text: string): string =>
  text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hex, name) => {
    const code = Number.parseInt(decimal ?? hex, decimal === undefined ? 16 : 10);
    if (name !== undefined) return named[String(name).toLowerCase()] ?? whole;
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
