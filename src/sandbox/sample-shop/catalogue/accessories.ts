import type { Group } from './group.ts';

export const bags: Group = {
  name: '가방',
  kinds: [
    {
      name: '토트/숄더백',
      season: 'always',
      options: { 색상: ['블랙', '탄', '아이보리'] },
      products: [
        ['데일리 소가죽 토트백', 'Daily Leather Tote', 138000],
        ['호보 스웨이드 숄더백', 'Hobo Suede Shoulder Bag', 79000],
        ['퀼팅 체인백', 'Quilted Chain Bag', 69000],
      ],
    },
    {
      name: '크로스/에코백',
      season: 'always',
      options: { 색상: ['내추럴', '블랙', '올리브'] },
      products: [
        ['미니 버킷백', 'Mini Bucket Bag', 58000],
        ['캔버스 빅 에코백', 'Canvas Big Eco Bag', 22000],
        ['나일론 패커블 크로스백', 'Nylon Packable Crossbody', 34000],
      ],
    },
  ],
  good: [
    '수납이 정말 넉넉해요',
    '노트북까지 들어가서 출근용으로 딱이에요',
    '가죽 냄새도 거의 없고 부드러워요',
    '가벼워서 어깨가 안 아파요',
    '어떤 옷에도 잘 어울려요',
    '바느질이 꼼꼼해요',
    '끈 조절이 돼서 편해요',
  ],
  fair: ['안쪽 주머니가 하나 더 있으면 좋겠어요', '생각보다 크기가 작아요', '각이 잘 안 잡혀요'],
  poor: ['끈 연결 부분이 일주일 만에 벌어졌어요', '스크래치가 있는 제품이 왔어요', '가죽 냄새가 너무 심해요'],
  goodInEnglish: ['Fits my 13 inch laptop', 'Light and goes with everything'],
  poorInEnglish: ['The strap came loose within a week'],
};

export const shoes: Group = {
  name: '신발',
  kinds: [
    {
      name: '스니커즈/로퍼',
      season: 'always',
      options: { 색상: ['화이트', '블랙'], 사이즈: ['225', '230', '235', '240', '245', '250'] },
      products: [
        ['에어쿠션 스니커즈', 'Air Cushion Sneakers', 65000],
        ['소프트 페니 로퍼', 'Soft Penny Loafers', 72000],
        ['독일군 스타일 스니커즈', 'German Trainer Sneakers', 69000],
        ['리본 메리제인', 'Ribbon Mary Janes', 54000],
      ],
    },
    {
      name: '샌들',
      season: 'summer',
      options: { 색상: ['블랙', '크림'], 사이즈: ['230', '235', '240', '245'] },
      products: [
        ['스트랩 컴포트 샌들', 'Strap Comfort Sandals', 43000],
        ['EVA 라이트 슬리퍼', 'EVA Light Slides', 19000],
        ['우븐 뮬', 'Woven Mules', 48000],
      ],
    },
  ],
  good: [
    '쿠션이 푹신해서 오래 걸어도 발이 안 아파요',
    '정사이즈로 사면 딱 맞아요',
    '발볼이 넓은 편인데도 편해요',
    '뒤꿈치 까짐이 전혀 없어요',
    '굽 높이가 적당해서 키 커 보여요',
    '가벼워서 자꾸 손이 가요',
  ],
  fair: ['발볼이 조금 좁게 나왔어요', '반 사이즈 업 추천해요', '처음엔 뒤꿈치가 살짝 아팠어요'],
  poor: ['신은 지 이틀 만에 밑창이 벌어졌어요', '뒤꿈치가 다 까졌어요', '양쪽 크기가 달라요'],
  goodInEnglish: ['True to size and very comfy', 'Walked all day in Seoul with no blisters'],
  poorInEnglish: ['The sole came off after two days', 'Gave me blisters'],
};

export const jewelry: Group = {
  name: '주얼리',
  kinds: [
    {
      name: '귀걸이/목걸이',
      season: 'always',
      options: { 색상: ['골드', '실버'] },
      products: [
        ['담수진주 드롭 귀걸이', 'Freshwater Pearl Drop Earrings', 27000],
        ['볼드 링 귀걸이', 'Bold Hoop Earrings', 21000],
        ['14K 데일리 목걸이', '14K Daily Necklace', 118000],
        ['레이어드 체인 목걸이', 'Layered Chain Necklace', 32000],
      ],
    },
  ],
  good: [
    '은은하게 반짝여서 매일 하기 좋아요',
    '알러지 있는데 아무렇지 않아요',
    '포장이 예뻐서 선물하기 좋아요',
    '무겁지 않아서 귀가 안 아파요',
    '사진보다 실물이 훨씬 예뻐요',
  ],
  fair: ['생각보다 작아요', '체인이 조금 짧아요'],
  poor: ['일주일 만에 색이 변했어요', '고리가 약해서 금방 빠져요'],
  goodInEnglish: ['Even prettier in person', 'No irritation at all on my sensitive ears'],
  poorInEnglish: ['Tarnished after one week'],
};
