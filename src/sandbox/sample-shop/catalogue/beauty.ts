import type { Group } from './group.ts';

export const skincare: Group = {
  name: '스킨케어',
  kinds: [
    {
      name: '토너/세럼',
      season: 'always',
      options: { 용량: ['30ml', '50ml', '150ml'] },
      products: [
        ['어성초 진정 토너', 'Heartleaf Calming Toner', 19800],
        ['히알루론 수분 앰플', 'Hyaluronic Water Ampoule', 24000],
        ['비타C 잡티 세럼', 'Vita C Spot Serum', 28000],
        ['약산성 패드 70매', 'Low pH Toner Pads 70', 21000],
        ['펩타이드 탄력 세럼', 'Peptide Firming Serum', 36000],
      ],
    },
    {
      name: '크림',
      season: 'winter',
      options: { 용량: ['50ml', '80ml'] },
      products: [
        ['세라마이드 장벽 크림', 'Ceramide Barrier Cream', 29000],
        ['시카 재생 크림', 'Cica Repair Cream', 26000],
        ['쌀겨 보습 크림', 'Rice Bran Moisture Cream', 23000],
      ],
    },
    {
      name: '선케어',
      season: 'summer',
      options: { 구성: ['1개', '1+1 기획'] },
      products: [
        ['무기자차 톤업 선크림', 'Mineral Tone-up Sunscreen', 22000],
        ['수분 선에센스 SPF50+', 'Watery Sun Essence SPF50+', 19500],
        ['선스틱 쿨링', 'Cooling Sun Stick', 17900],
      ],
    },
  ],
  good: [
    '자극 없이 순해서 민감성인데도 잘 맞아요',
    '흡수가 빠르고 끈적임이 없어요',
    '다음 날 아침까지 촉촉해요',
    '붉은기가 확실히 가라앉았어요',
    '향이 거의 없어서 좋아요',
    '벌써 세 통째 쓰고 있어요',
    '화장이 밀리지 않아요',
    '피부결이 매끈해졌어요',
    '백탁 없이 자연스러워요',
  ],
  fair: [
    '순하긴 한데 효과는 더 써봐야 알겠어요',
    '건성한테는 보습이 조금 부족해요',
    '향이 호불호 갈릴 것 같아요',
    '용기 펌핑이 조금 불편해요',
  ],
  poor: [
    '이틀 쓰고 트러블이 올라왔어요',
    '눈이 너무 시려요',
    '겉돌고 밀려서 화장을 못 하겠어요',
    '뚜껑이 깨져서 내용물이 새어 나왔어요',
    '유통기한이 얼마 안 남은 제품이 왔어요',
  ],
  goodInEnglish: ['No irritation on my sensitive skin', 'Absorbs fast and is not sticky', 'My third bottle already'],
  poorInEnglish: ['Broke me out after two days', 'The bottle leaked in the box'],
};

export const makeup: Group = {
  name: '메이크업',
  kinds: [
    {
      name: '립',
      season: 'always',
      options: { 색상: ['01 로즈누드', '02 피치베이지', '03 말린장미', '04 체리레드', '05 무화과'] },
      products: [
        ['벨벳 무스 틴트', 'Velvet Mousse Tint', 14000],
        ['글로우 립밤', 'Glow Lip Balm', 12000],
        ['워터 컬러 틴트', 'Water Color Tint', 13000],
        ['롱래스팅 립스틱', 'Long Lasting Lipstick', 18000],
      ],
    },
    {
      name: '베이스/아이',
      season: 'always',
      options: { 호수: ['17호', '19호', '21호', '23호'] },
      products: [
        ['스킨핏 글로우 쿠션', 'Skin Fit Glow Cushion', 32000],
        ['커버 컨실러 듀오', 'Cover Concealer Duo', 18000],
        ['블러 파우더 팩트', 'Blur Powder Pact', 22000],
      ],
    },
  ],
  good: [
    '발색이 예쁘고 지속력도 좋아요',
    '마스크에 거의 안 묻어나요',
    '각질 부각 없이 촉촉해요',
    '쿨톤인데 찰떡이에요',
    '데일리로 쓰기 딱 좋은 색이에요',
    '다크닝이 없어요',
    '색깔별로 다 사고 싶어요',
  ],
  fair: ['착색이 조금 약해요', '화면보다 붉은 편이에요', '점심 먹으면 수정이 필요해요'],
  poor: ['각질이 다 일어나요', '색이 사진이랑 완전 달라요', '케이스가 깨져서 왔어요'],
  goodInEnglish: ['Gorgeous everyday shade', 'Stays on through lunch'],
  poorInEnglish: ['The shade looks nothing like the photo', 'Very drying'],
};

export const hairAndBody: Group = {
  name: '헤어/바디',
  kinds: [
    {
      name: '샴푸/트리트먼트',
      season: 'always',
      options: { 용량: ['300ml', '500ml'] },
      products: [
        ['두피 진정 약산성 샴푸', 'Scalp Calming Shampoo', 24000],
        ['단백질 헤어 트리트먼트', 'Protein Hair Treatment', 21000],
        ['모로칸 헤어 오일', 'Moroccan Hair Oil', 26000],
      ],
    },
    {
      name: '바디',
      season: 'always',
      options: { 향: ['화이트머스크', '무화과', '베르가못', '무향'] },
      products: [
        ['퍼퓸 바디워시', 'Perfume Body Wash', 18000],
        ['시어버터 바디크림', 'Shea Butter Body Cream', 25000],
        ['퍼퓸 핸드크림', 'Perfume Hand Cream', 12000],
      ],
    },
  ],
  good: [
    '향이 고급스럽고 오래가요',
    '머릿결이 확실히 부드러워졌어요',
    '거품이 풍성해요',
    '두피가 덜 가려워요',
    '온 가족이 같이 써요',
    '씻고 나서도 당기지 않아요',
  ],
  fair: ['향이 생각보다 약해요', '거품이 잘 안 나는 편이에요', '펌프가 조금 뻑뻑해요'],
  poor: ['향이 너무 인공적이에요', '머리가 떡져요', '펌프가 고장 나서 왔어요'],
  goodInEnglish: ['The scent lasts all day', 'My hair feels so much softer'],
  poorInEnglish: ['The scent is way too strong', 'The pump was broken'],
};
