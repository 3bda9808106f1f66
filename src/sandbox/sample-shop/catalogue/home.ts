import type { Group } from './group.ts';

export const bedding: Group = {
  name: '침구',
  kinds: [
    {
      name: '이불/패드',
      season: 'always',
      options: { 색상: ['화이트', '그레이', '라벤더'], 사이즈: ['싱글', '슈퍼싱글', '퀸', '킹'] },
      products: [
        ['60수 고밀도 차렵이불', '60s High Density Comforter', 89000],
        ['모달 여름 홑이불', 'Modal Summer Blanket', 49000],
        ['구스 사계절 이불솜', 'Goose All-season Duvet', 159000],
        ['알러지케어 매트리스 패드', 'Allergy Care Mattress Pad', 54000],
      ],
    },
    {
      name: '베개/담요',
      season: 'winter',
      options: { 색상: ['아이보리', '베이지'] },
      products: [
        ['경추 메모리폼 베개', 'Cervical Memory Foam Pillow', 45000],
        ['극세사 담요', 'Microfiber Throw', 25000],
        ['와플 코튼 블랭킷', 'Waffle Cotton Blanket', 39000],
      ],
    },
  ],
  good: [
    '촉감이 보들보들해서 잠이 잘 와요',
    '먼지가 안 나서 비염 있는 남편이 좋아해요',
    '세탁 후에도 뭉치지 않아요',
    '호텔 침구 같아요',
    '가볍고 포근해요',
    '자고 일어나면 목이 편해요',
  ],
  fair: ['처음에 냄새가 조금 나서 하루 말렸어요', '생각보다 얇아서 간절기용이에요', '사이즈가 조금 작게 느껴져요'],
  poor: ['털이 계속 빠져요', '바느질이 터져서 왔어요', '한 번 빨았더니 솜이 다 뭉쳤어요'],
  goodInEnglish: ['Feels like a hotel bed', 'So soft and cozy'],
  poorInEnglish: ['The seam was torn on arrival', 'The filling clumped after one wash'],
};

export const kitchen: Group = {
  name: '주방',
  kinds: [
    {
      name: '컵/머그',
      season: 'always',
      options: { 색상: ['크림', '세이지', '코발트'] },
      products: [
        ['무광 도자기 머그', 'Matte Ceramic Mug', 15000],
        ['내열 유리컵 2P', 'Heat-resistant Glass 2P', 19000],
        ['스테인리스 텀블러 500', 'Stainless Tumbler 500', 28000],
      ],
    },
    {
      name: '접시/조리도구',
      season: 'always',
      options: {},
      products: [
        ['빈티지 파스타 볼 2P', 'Vintage Pasta Bowl 2P', 32000],
        ['올리브 나무 도마', 'Olive Wood Board', 38000],
        ['실리콘 조리도구 5종', 'Silicone Utensils Set of 5', 29000],
      ],
    },
  ],
  good: [
    '그립감이 좋고 설거지도 편해요',
    '전자레인지에 돌려도 괜찮아요',
    '음식이 더 맛있어 보여요',
    '집들이 선물로 샀는데 반응이 좋았어요',
    '포장이 꼼꼼해서 깨짐 없이 왔어요',
    '보온이 생각보다 오래가요',
  ],
  fair: ['생각보다 무거워요', '크기가 조금 작아요', '바닥에 작은 점이 있는데 쓰는 데는 지장 없어요'],
  poor: ['모서리가 깨져서 왔어요', '냄새가 아무리 씻어도 안 빠져요', '한 달 만에 금이 갔어요'],
  goodInEnglish: ['Well packed and beautiful', 'Easy to clean and microwave safe'],
  poorInEnglish: ['Arrived chipped', 'Cracked after a month'],
};

export const interior: Group = {
  name: '인테리어',
  kinds: [
    {
      name: '디퓨저/캔들',
      season: 'always',
      options: { 향: ['우디', '블랙체리', '코튼', '유자'] },
      products: [
        ['룸 디퓨저 200ml', 'Room Diffuser 200ml', 26000],
        ['소이 캔들', 'Soy Candle', 22000],
        ['패브릭 퍼퓸', 'Fabric Perfume', 16000],
      ],
    },
    {
      name: '조명/수납',
      season: 'always',
      options: { 색상: ['화이트', '우드', '블랙'] },
      products: [
        ['버섯 무드등', 'Mushroom Mood Lamp', 35000],
        ['라탄 수납 바구니', 'Rattan Storage Basket', 24000],
        ['접이식 리빙박스 3P', 'Folding Storage Box 3P', 33000],
      ],
    },
  ],
  good: [
    '방 분위기가 확 달라졌어요',
    '현관에 뒀는데 들어올 때마다 기분이 좋아요',
    '조립이 쉬워서 혼자서도 금방 했어요',
    '튼튼하고 마감이 깔끔해요',
    '은은해서 침실에 두기 좋아요',
    '정리가 한 번에 됐어요',
  ],
  fair: ['향이 멀리 퍼지지는 않아요', '사진보다 작아요', '나무 냄새가 조금 나요'],
  poor: ['배송 중에 다 새서 왔어요', '스위치 접촉이 안 좋아요', '마감이 거칠어서 손을 다칠 뻔했어요'],
  goodInEnglish: ['Changed the mood of my room', 'Easy to put together'],
  poorInEnglish: ['It had leaked all over the box', 'Flimsy and rough edges'],
};
