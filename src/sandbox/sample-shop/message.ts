import type { Group } from './catalogue/group.ts';
import { phrases, type Tone } from './phrases.ts';
import type { Random } from './random.ts';

export type Opinion = {
  group: Group;
  score: number | null;
  options: Readonly<Record<string, string>>;
  inSale: boolean;
};

/** What a customer of this opinion writes: one word or a page, mostly Korean. */
export function reviewMessage(random: Random, opinion: Opinion): string {
  const tone = toneOf(opinion.score);
  if (random.chance(0.05)) return inEnglish(random, opinion.group, tone);
  const sentences = random.weighted([
    [() => short(random, tone), 16],
    [() => middling(random, opinion, tone), 50],
    [() => long(random, opinion, tone), 26],
    [() => thorough(random, opinion, tone), 8],
  ])();
  return punctuated(random, sentences, tone);
}

export function withAfterthought(random: Random, message: string): string {
  return `${message}\n${random.pick(phrases.edited)}`;
}

function toneOf(score: number | null): Tone {
  if (score === null || score === 3) return 'fair';
  return score > 3 ? 'good' : 'poor';
}

const short = (random: Random, tone: Tone) => [random.pick(phrases.short[tone])];

function middling(random: Random, { group, score, inSale }: Opinion, tone: Tone): string[] {
  const sentences = random.sample(group[tone], random.integer(1, 2));
  if (inSale && tone === 'good' && random.chance(0.3)) sentences.unshift(random.pick(phrases.sale));
  if (score === 4 && random.chance(0.5)) sentences.push(`다만 ${random.pick(group.fair)}`);
  else if (random.chance(0.25)) sentences.push(random.pick(phrases.closer[tone]));
  return sentences;
}

function long(random: Random, opinion: Opinion, tone: Tone): string[] {
  return [
    random.pick(phrases.opener[tone]),
    ...aboutOptions(random, opinion.options, tone),
    ...random.sample(opinion.group[tone], 2),
    ...(opinion.score === 4 ? [`다만 ${random.pick(opinion.group.fair)}`] : []),
    ...(random.chance(0.5) ? [random.pick(phrases.delivery[tone])] : []),
  ];
}

function thorough(random: Random, opinion: Opinion, tone: Tone): string[] {
  return [
    random.pick(phrases.opener[tone]),
    ...aboutOptions(random, opinion.options, tone),
    ...random.sample(opinion.group[tone], 3),
    random.pick(phrases.delivery[tone]),
    ...(tone === 'good' ? [] : [random.pick(opinion.group.fair)]),
    random.pick(phrases.closer[tone]),
  ];
}

function aboutOptions(random: Random, options: Readonly<Record<string, string>>, tone: Tone): string[] {
  const { 색상: color, 사이즈: size, 호수: shade, 향: scent } = options;
  const said = [];
  if (color) said.push(`${color} 색상으로 주문했어요`);
  if (shade) said.push(`${shade} 사용 중이에요`);
  if (scent) said.push(`${scent} 향으로 골랐어요`);
  if (size && tone === 'good') said.push(`평소 사이즈대로 ${size} 샀는데 잘 맞아요`);
  if (size && tone !== 'good') said.push(`${size} 사이즈 주문했는데 저한테는 안 맞았어요`);
  return random.sample(said, 1);
}

function punctuated(random: Random, sentences: readonly string[], tone: Tone): string {
  const end = random.weighted<string>(
    tone === 'good'
      ? [
          ['.', 30],
          ['!', 20],
          ['!!', 14],
          ['~', 16],
          [' ㅎㅎ', 8],
          ['', 12],
          [' :)', 3],
          [' 👍', 4],
          [' ❤️', 3],
        ]
      : [
          ['.', 50],
          ['', 25],
          ['..', 15],
          [' ㅠㅠ', tone === 'poor' ? 12 : 4],
        ],
  );
  const between = random.weighted([
    [' ', 20],
    ['. ', 40],
    ['! ', tone === 'good' ? 12 : 0],
    [sentences.length > 3 ? '\n' : '. ', 15],
  ]);
  return sentences.join(between) + end;
}

function inEnglish(random: Random, group: Group, tone: Tone): string {
  const own = { good: group.goodInEnglish, fair: [], poor: group.poorInEnglish }[tone];
  const sentences = random.chance(0.6) ? random.sample(own, 1) : [];
  return (
    [...sentences, ...random.sample(phrases.english[tone], random.integer(1, 2))].join('. ') +
    random.pick(['.', '!', ''])
  );
}
