/** Levels of a JSON text, counted without parsing. Exact for valid JSON. */
export function depthOf(json: string): number {
  let [level, depth] = [0, 0];
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') {
      for (at += 1; at < json.length && json[at] !== '"'; at += 1) if (json[at] === '\\') at += 1;
    } else if (character === '[' || character === '{') {
      level += 1;
      depth = Math.max(depth, level);
    } else if (character === ']' || character === '}') level -= 1;
  }
  return depth;
}
