import { day, type Moment, type Period } from './calendar.ts';
import type { Random } from './random.ts';

export type MemberGradeRow = {
  grade_code: string;
  grade_name: string;
  min_purchase: number;
  discount_percent: number;
  badge_file: string | null;
};

export type MemberRow = {
  member_no: number;
  login_id: string;
  real_name: string;
  mobile: string;
  email: string;
  grade_code: string;
  joined_at: Date;
};

export const memberGrades: readonly MemberGradeRow[] = [
  { grade_code: 'WELCOME', grade_name: '웰컴', min_purchase: 0, discount_percent: 0, badge_file: null },
  { grade_code: 'SILVER', grade_name: '실버', min_purchase: 100000, discount_percent: 1, badge_file: 'silver.png' },
  { grade_code: 'GOLD', grade_name: '골드', min_purchase: 500000, discount_percent: 3, badge_file: 'gold.png' },
  { grade_code: 'VIP', grade_name: 'VIP', min_purchase: 1500000, discount_percent: 5, badge_file: 'vip.png' },
];

/** Surnames, and how many of a hundred people have each. */
const surnames = pairs(
  `김 21, 이 15, 박 8, 최 5, 정 5, 강 3, 조 2, 윤 2, 장 2, 임 2, 한 2, 오 1, 서 1, 신 1, 권 1, 황 1, 송 1`,
).map(([name, share]) => [name, Number(share)] as const);

const givenNames =
  pairs(`서연 seoyeon, 지우 jiwoo, 민지 minji, 수빈 subin, 하은 haeun, 지민 jimin, 예린 yerin, 유진 yujin,
  은지 eunji, 혜진 hyejin, 소영 soyoung, 미경 migyeong, 지현 jihyun, 다은 daeun, 채원 chaewon, 윤아 yoona, 보라 bora,
  선영 sunyoung, 현정 hyunjung, 나연 nayeon, 가은 gaeun, 정민 jungmin, 준호 junho, 민수 minsu, 도윤 doyun, 성민 sungmin,
  재현 jaehyun, 태영 taeyoung, 세라 sera, 아름 areum`);

export const personName = (random: Random) => random.weighted(surnames) + random.pick(givenNames)[0];

function pairs(list: string): [string, string][] {
  return list.split(',').map((pair) => {
    const [first = '', second = ''] = pair.trim().split(' ');
    return [first, second];
  });
}

/** Nobody is ever given such a number. */
export const fakeMobile = (random: Random) => `010-0000-${String(random.integer(0, 9999)).padStart(4, '0')}`;

/** Members by the day on which they joined, the oldest first. */
export function generateMembers(random: Random, period: Period, count: number): MemberRow[] {
  const joined = Array.from({ length: count }, () => joinedAt(random, period)).sort((a, b) => a - b);
  const taken = new Set<string>();
  return joined.map((at, index) => {
    const [given, romanized] = random.pick(givenNames);
    const login = freeLogin(random, romanized, taken);
    return {
      member_no: 20001 + index,
      login_id: login,
      real_name: random.weighted(surnames) + given,
      mobile: fakeMobile(random),
      email: `${login}@${random.chance(0.8) ? 'example.com' : 'mail.example.com'}`,
      grade_code: random.weighted([
        ['WELCOME', 62],
        ['SILVER', 24],
        ['GOLD', 11],
        ['VIP', 3],
      ]),
      joined_at: new Date(at),
    };
  });
}

function joinedAt(random: Random, period: Period): Moment {
  return random.chance(0.6)
    ? period.start - Math.floor(random.next() * 900 * day) - 1
    : period.start + Math.floor(random.next() * (period.end - period.start));
}

function freeLogin(random: Random, name: string, taken: Set<string>): string {
  for (;;) {
    const login = random.weighted([
      [`${name}${random.integer(70, 99)}`, 4],
      [`${name}_${random.integer(1, 999)}`, 3],
      [`${name}.${random.pick(['kim', 'lee', 'park', 'home', 'daily', 'mom'])}${random.integer(1, 99)}`, 2],
      [`${random.pick(['love', 'happy', 'lucky', 'mint', 'moon'])}${name}${random.integer(1, 99)}`, 2],
    ]);
    if (taken.has(login)) continue;
    taken.add(login);
    return login;
  }
}

/** A member who had joined by then. Some members come back more often than others. */
export function memberAt(random: Random, members: readonly MemberRow[], at: Moment): MemberRow | undefined {
  let joined = 0;
  let end = members.length;
  while (joined < end) {
    const middle = (joined + end) >> 1;
    if ((members[middle]?.joined_at.getTime() ?? 0) <= at) joined = middle + 1;
    else end = middle;
  }
  return members[Math.floor(random.next() ** 1.4 * joined)];
}
