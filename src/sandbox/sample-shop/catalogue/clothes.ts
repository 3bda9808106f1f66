import type { Group } from './group.ts';

export const tops: Group = {
  name: '상의',
  kinds: [
    {
      name: '니트',
      season: 'winter',
      options: { 색상: ['아이보리', '오트밀', '차콜', '더스티핑크', '네이비'], 사이즈: ['S', 'M', 'L'] },
      products: [
        ['캐시미어 블렌드 라운드 니트', 'Cashmere Blend Round Knit', 59000],
        ['하찌 브이넥 니트', 'Hazzi V-neck Knit', 42000],
        ['꽈배기 크롭 니트', 'Cable Crop Knit', 47000],
        ['메리노울 터틀넥', 'Merino Wool Turtleneck', 68000],
        ['앙고라 보트넥 니트', 'Angora Boat Neck Knit', 52000],
      ],
    },
    {
      name: '셔츠/블라우스',
      season: 'spring and autumn',
      options: { 색상: ['화이트', '스카이블루', '핑크스트라이프'], 사이즈: ['55', '66', '77'] },
      products: [
        ['오버핏 코튼 셔츠', 'Overfit Cotton Shirt', 39000],
        ['린넨 밴드카라 셔츠', 'Linen Band Collar Shirt', 45000],
        ['타이 리본 블라우스', 'Tie Ribbon Blouse', 43000],
        ['스트라이프 포켓 셔츠', 'Stripe Pocket Shirt', 37000],
        ['셔링 퍼프 블라우스', 'Shirring Puff Blouse', 41000],
      ],
    },
    {
      name: '티셔츠',
      season: 'summer',
      options: { 색상: ['화이트', '블랙', '멜란지그레이', '버터', '세이지'], 사이즈: ['FREE', 'L'] },
      products: [
        ['에센셜 헤비 코튼 티', 'Essential Heavy Cotton Tee', 24000],
        ['슬라브 브이넥 반팔티', 'Slub V-neck Tee', 19000],
        ['크롭 골지 반팔티', 'Crop Ribbed Tee', 18000],
        ['레터링 오버핏 티셔츠', 'Lettering Overfit Tee', 27000],
        ['쿨터치 민소매 티', 'Cool Touch Sleeveless Tee', 16000],
        ['피그먼트 롱슬리브', 'Pigment Long Sleeve', 29000],
      ],
    },
  ],
  good: [
    '핏이 너무 예뻐요',
    '부드럽고 까슬거림이 전혀 없어요',
    '비침도 없고 두께감도 적당해요',
    '세탁기에 돌렸는데 늘어남 없이 그대로예요',
    '색감이 화면이랑 똑같아요',
    '어깨라인이 자연스럽게 떨어져서 체형 커버돼요',
    '단독으로도, 이너로도 입기 좋아요',
    '회사에서 어디서 샀냐고 물어봤어요',
    '마감이 깔끔하고 실밥 하나 없어요',
    '가격 대비 퀄리티가 정말 좋아요',
  ],
  fair: [
    '소매가 조금 길어요',
    '생각보다 살짝 얇아요',
    '화면보다 색이 한 톤 어두워요',
    '구김이 잘 가는 편이에요',
    '처음에 먼지가 조금 묻어나요',
  ],
  poor: [
    '한 번 세탁했는데 보풀이 생겼어요',
    '목이 너무 늘어나요',
    '비침이 심해서 단독으로는 못 입겠어요',
    '실밥이 여기저기 나와 있어요',
    '화면이랑 색이 너무 달라요',
    '까슬거려서 맨살에 못 입어요',
  ],
  goodInEnglish: [
    'Soft fabric and a lovely fit',
    'The color is exactly as in the photos',
    'Washed it twice, still looks new',
  ],
  poorInEnglish: ['Too sheer to wear on its own', 'It pilled after the first wash'],
};

export const bottoms: Group = {
  name: '하의/원피스',
  kinds: [
    {
      name: '데님',
      season: 'always',
      options: { 색상: ['라이트블루', '중청', '진청', '블랙'], 사이즈: ['25', '26', '27', '28', '29'] },
      products: [
        ['하이웨스트 와이드 데님', 'High Waist Wide Denim', 54000],
        ['세미 부츠컷 데님', 'Semi Bootcut Denim', 52000],
        ['논페이드 스트레이트 진', 'Non-fade Straight Jeans', 58000],
        ['밴딩 배기 데님', 'Banding Baggy Denim', 49000],
      ],
    },
    {
      name: '슬랙스',
      season: 'always',
      options: { 색상: ['블랙', '베이지', '차콜'], 사이즈: ['S', 'M', 'L', 'XL'] },
      products: [
        ['원턱 와이드 슬랙스', 'One-tuck Wide Slacks', 46000],
        ['여름 쿨 밴딩 슬랙스', 'Summer Cool Banding Slacks', 38000],
        ['히든밴딩 테이퍼드 팬츠', 'Hidden Banding Tapered Pants', 44000],
        ['기모 일자 슬랙스', 'Fleece-lined Straight Slacks', 43000],
      ],
    },
    {
      name: '스커트/원피스',
      season: 'spring and autumn',
      options: { 색상: ['블랙', '크림', '올리브'], 사이즈: ['S', 'M'] },
      products: [
        ['새틴 롱 스커트', 'Satin Long Skirt', 36000],
        ['플리츠 미디 스커트', 'Pleated Midi Skirt', 39000],
        ['스모크 플라워 원피스', 'Smocked Flower Dress', 57000],
        ['니트 슬립 원피스', 'Knit Slip Dress', 62000],
        ['셔츠 랩 원피스', 'Shirt Wrap Dress', 59000],
      ],
    },
  ],
  good: [
    '허리가 편하고 하루 종일 입어도 안 불편해요',
    '다리가 길어 보여요',
    '기장이 딱 좋아요',
    '구김이 잘 안 가서 출근룩으로 최고예요',
    '힙이랑 허벅지 라인을 잘 잡아줘요',
    '원단이 탄탄한데 신축성도 있어요',
    '계절 타지 않고 입을 수 있어서 좋아요',
    '핏이 예뻐서 다른 색도 주문했어요',
    '안감이 있어서 비침 걱정이 없어요',
  ],
  fair: [
    '키 작은 분들은 수선이 필요할 것 같아요',
    '허리는 맞는데 기장이 조금 길어요',
    '원단이 생각보다 두꺼워요',
    '정전기가 조금 있어요',
    '한 사이즈 크게 살 걸 그랬어요',
  ],
  poor: [
    '사이즈가 표기보다 너무 작게 나왔어요',
    '물빠짐이 심해서 다른 옷에 이염됐어요',
    '지퍼가 뻑뻑해서 잘 안 올라가요',
    '앉으면 허리가 너무 조여요',
    '밑단 마감이 엉성해요',
  ],
  goodInEnglish: ['Super comfortable waist', 'Makes my legs look longer', 'Great length for someone around 165cm'],
  poorInEnglish: ['Runs much smaller than the size chart', 'The dye bled in the wash'],
};

export const outer: Group = {
  name: '아우터',
  kinds: [
    {
      name: '코트',
      season: 'winter',
      options: { 색상: ['카멜', '블랙', '오트베이지'], 사이즈: ['S', 'M', 'L'] },
      products: [
        ['핸드메이드 울 롱코트', 'Handmade Wool Long Coat', 198000],
        ['발마칸 하프 코트', 'Balmacaan Half Coat', 149000],
        ['클래식 트렌치 코트', 'Classic Trench Coat', 129000],
      ],
    },
    {
      name: '패딩',
      season: 'winter',
      options: { 색상: ['블랙', '크림', '카키'], 사이즈: ['FREE'] },
      products: [
        ['구스다운 숏 패딩', 'Goose Down Short Puffer', 179000],
        ['라이트 누빔 패딩', 'Light Quilted Jacket', 69000],
        ['경량 패딩 조끼', 'Lightweight Puffer Vest', 49000],
      ],
    },
    {
      name: '가디건/재킷',
      season: 'spring and autumn',
      options: { 색상: ['베이지', '네이비', '그레이'], 사이즈: ['S', 'M'] },
      products: [
        ['오버핏 싱글 블레이저', 'Overfit Single Blazer', 98000],
        ['크롭 트위드 재킷', 'Crop Tweed Jacket', 89000],
        ['라운드 단추 가디건', 'Round Button Cardigan', 45000],
        ['린넨 여름 재킷', 'Linen Summer Jacket', 72000],
      ],
    },
  ],
  good: [
    '가볍고 정말 따뜻해요',
    '어깨가 무겁지 않아서 매일 입어요',
    '백화점 제품이랑 비교해도 손색없어요',
    '안감까지 꼼꼼하게 마감됐어요',
    '니트 위에 걸쳐도 여유 있어요',
    '털 빠짐이 전혀 없어요',
    '단추랑 지퍼가 고급스러워요',
    '유행 안 탈 디자인이라 오래 입을 것 같아요',
  ],
  fair: [
    '한겨울에는 조금 추울 것 같아요',
    '접힌 자국이 있어서 스팀다리미로 폈어요',
    '소매통이 좁아서 두꺼운 옷은 못 입어요',
    '새 옷 냄새가 조금 나요',
  ],
  poor: [
    '털이 계속 빠져서 안에 입은 옷이 엉망이에요',
    '단추가 하나 떨어진 채로 왔어요',
    '생각보다 얇고 힘이 없어요',
    '팔이 너무 짧아요',
  ],
  goodInEnglish: [
    'Warm but surprisingly light',
    'Looks far more expensive than it is',
    'Room enough for a thick sweater underneath',
  ],
  poorInEnglish: ['A button was missing on arrival', 'It sheds all over my clothes'],
};
