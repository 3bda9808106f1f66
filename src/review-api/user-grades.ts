import { asInteger, asObject, asText, nothing, parseJson } from './answer.ts';
import type { Answer, Send } from './call.ts';
import { requireCode, requireId, requireLimit } from './check.ts';
import { textsOf } from './order-shapes.ts';
import { allPages, type Page, readPage } from './pages.ts';

const path = '/v1/user_grades';

export type UserGrade = {
  id: number;
  name: string;
  icon_url: string | null;
  created_at: string | null;
  updated_at: string | null;
};

/** The icon is 20 pixels wide or high. */
export type UserGradeBody = { name: string; icon_url?: string | undefined };

/** `limit`: page size, 1 to 100, default 100. */
export type UserGradeListParams = { limit?: number; page?: number };

export type UserGrades = ReturnType<typeof userGrades>;

export function userGrades(send: Send) {
  const api = {
    async list({ limit = 100, page = 1 }: UserGradeListParams = {}): Promise<Page<UserGrade>> {
      return send({ method: 'GET', path, params: { limit: requireLimit(limit), page } }, readPage(asUserGrade));
    },

    listAll({ limit = 100 }: { limit?: number } = {}): AsyncGenerator<Page<UserGrade>, void, undefined> {
      return allPages(path, limit, (page) => api.list({ limit, page }));
    },

    async get(id: number): Promise<UserGrade> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}` }, readUserGrade);
    },

    /** A grade has no code, so it is added anew each time: throws `UnknownOutcomeError` when its answer is lost. */
    async create(body: UserGradeBody): Promise<UserGrade> {
      requireCode(body.name, 'name');
      return send({ method: 'POST', path, params: body, repeatable: false }, readUserGrade);
    },

    async update(id: number, patch: Partial<UserGradeBody>): Promise<void> {
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params: patch }, nothing);
    },

    async remove(id: number): Promise<void> {
      return send({ method: 'DELETE', path: `${path}/${requireId(id)}`, absentIsFine: true }, nothing);
    },
  };
  return api;
}

const readUserGrade = (answer: Answer) => asUserGrade(parseJson(answer));

function asUserGrade(value: unknown): UserGrade {
  const grade = asObject(value, 'a user grade');
  return {
    ...grade,
    id: asInteger(grade.id, 'id'),
    name: asText(grade.name, 'name'),
    ...textsOf(grade, ['icon_url', 'created_at', 'updated_at']),
  };
}
