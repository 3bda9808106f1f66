import { asInteger, asObject, asText, nothing, parseJson, textsOf } from './answer.ts';
import type { Answer, Send } from './call.ts';
import { requireCode, requireId, requireLimit, requirePage } from './check.ts';
import { allPages, type Page, readPage } from './pages.ts';

const path = '/v1/user_grades';

/** A member grade (spec, 'User grade'). Dates are ISO 8601 with offset; fields beyond these are kept as they came. */
export type UserGrade = {
  id: number;
  name: string;
  icon_url: string | null;
  created_at: string | null;
  updated_at: string | null;
};

/** Body of `POST /v1/user_grades`. The icon is 20 pixels wide or high. */
export type UserGradeBody = { name: string; icon_url?: string | undefined };

/** What an update may change. What is left out stays as it is. */
export type UserGradePatch = { name?: string | undefined; icon_url?: string | undefined };

/** Page size, 1 to 100, default 100. */
export type UserGradeListAllParams = { limit?: number | undefined };

/** Page size and page, from 1. */
export type UserGradeListParams = UserGradeListAllParams & { page?: number | undefined };

export type UserGrades = ReturnType<typeof userGrades>;

/** Member grades (spec, 'User grades'). They have no code, so they are named by the service's id only. */
export function userGrades(send: Send) {
  const api = {
    /** One page of the grades (spec, 'User grades', List). */
    async list({ limit = 100, page = 1 }: UserGradeListParams = {}): Promise<Page<UserGrade>> {
      const params = { limit: requireLimit(limit), page: requirePage(page) };
      return send({ method: 'GET', path, params }, readPage(asUserGrade));
    },

    /** All pages of the grades, one request each. */
    listAll({ limit = 100 }: UserGradeListAllParams = {}): AsyncGenerator<Page<UserGrade>, void, undefined> {
      return allPages(path, limit, (page) => api.list({ limit, page }));
    },

    /** A grade (spec, 'User grades', Get). @throws NotFoundError */
    async get(id: number): Promise<UserGrade> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}` }, readUserGrade);
    },

    /**
     * Adds a grade (spec, 'User grades', Create), anew each time, so it is never repeated blindly.
     *
     * @throws UnknownOutcomeError when the answer is lost: look for the name in the list.
     */
    async create(body: UserGradeBody): Promise<UserGrade> {
      requireCode(body.name, 'name');
      return send({ method: 'POST', path, params: body, repeatable: false }, readUserGrade);
    },

    /** Changes the fields given (spec, 'User grades', Update). @throws NotFoundError */
    async update(id: number, patch: UserGradePatch): Promise<void> {
      if (patch.name !== undefined) requireCode(patch.name, 'name');
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params: patch }, nothing);
    },

    /** Deletes it (spec, 'User grades', Delete). One that is gone already is success. */
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
