/** Depth and number of values of a JSON text, counted without parsing. Exact for valid JSON. */
export function shapeOf(json: string): { depth: number; values: number } {
  let [level, depth, values] = [0, 0, 1];
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') {
      for (at += 1; at < json.length && json[at] !== '"'; at += 1) if (json[at] === '\\') at += 1;
    } else if (character === '[' || character === '{') {
      level += 1;
      depth = Math.max(depth, level);
    } else if (character === ']' || character === '}') level -= 1;
    else if (character === ',') values += 1;
  }
  return { depth, values };
}
