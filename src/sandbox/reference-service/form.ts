/**
 * Reads `a=1&list[]=x&fields[name]=z&items[][field]=y`, of a body or a query, as form readers do: a name given twice
 * has its last value, a repeated field begins the next item.
 */
export function parseForm(text: string): Record<string, unknown> {
  // Without a prototype, a field named __proto__ is a field.
  const params: Record<string, unknown> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    const [, key = name, isList, field] = /^([^[]+)(\[\])?(?:\[([^\]]+)\])?$/.exec(name) ?? [];
    const known = params[key];
    if (!isList) {
      params[key] = field === undefined ? value : { ...(isFields(known) && known), [field]: value };
      continue;
    }
    const list: unknown[] = Array.isArray(known) ? known : [];
    params[key] = list;
    if (field === undefined) list.push(value);
    else addField(list, field, value);
  }
  return params;
}

const isFields = (known: unknown): known is Record<string, unknown> =>
  typeof known === 'object' && known !== null && !Array.isArray(known);

function addField(items: unknown[], field: string, value: string): void {
  const last = items.at(-1);
  if (typeof last !== 'object' || last === null || Object.hasOwn(last, field)) items.push({ [field]: value });
  else Object.assign(last, { [field]: value });
}
