import type { CallOptions, HttpResponse, Send } from '../http/call.ts';
import { asInteger, asObject, asText, ignoreBody, parseJson, textsOf, withSameId } from '../http/response-body.ts';
import { requireCode, requireId, requireLimit, requirePage } from './check.ts';
import { allPages, type Page, readPage } from './pages.ts';

const path = '/v1/user_grades';

/**
 * A member grade (docs/interface.md, "User grade"). Dates are ISO 8601 with offset; fields beyond these are kept
 * unchanged.
 */
export type UserGrade = {
  id: number;
  name: string;
  icon_url: string | null;
  created_at: string | null;
  updated_at: string | null;
};

/** Body of `POST /v1/user_grades`. The icon is 20 pixels wide or high. */
export type UserGradeBody = { name: string; icon_url?: string | undefined };

/**
 * Fields to change. A field that is left out stays unchanged. A null icon is sent as an empty value; the spec does not
 * say whether that removes the icon, so read the grade again.
 */
export type UserGradePatch = { name?: string | undefined; icon_url?: string | null | undefined };

/** Page size, 1 to 100, default 100. */
export type UserGradeListAllParams = { limit?: number | undefined };

/** Page size and page, from 1. */
export type UserGradeListParams = UserGradeListAllParams & { page?: number | undefined };

export type UserGrades = ReturnType<typeof userGradesApi>;

/** Member grades (docs/interface.md, "User grades"). They have no code, only the service's id. */
export function userGradesApi(send: Send) {
  const api = {
    /** One page of the grades. */
    async list({ limit = 100, page = 1 }: UserGradeListParams = {}): Promise<Page<UserGrade>> {
      const params = { limit: requireLimit(limit), page: requirePage(page) };
      return send({ method: 'GET', path, params }, readPage(asUserGrade));
    },

    /** All pages of the grades, one request each. */
    listAll({ limit = 100 }: UserGradeListAllParams = {}): AsyncGenerator<Page<UserGrade>, void, undefined> {
      return allPages(path, limit, (page) => api.list({ limit, page }));
    },

    /** A grade. @throws NotFoundError */
    async get(id: number, { giveUpAfterMs }: CallOptions = {}): Promise<UserGrade> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}`, giveUpAfterMs }, (response) =>
        withSameId(readUserGrade(response), id),
      );
    },

    /**
     * Adds a grade. Each request adds one, so the client never repeats it after a lost response.
     *
     * @throws UnknownOutcomeError when the response is lost: look for the name in the list.
     */
    async create(body: UserGradeBody, { giveUpAfterMs }: CallOptions = {}): Promise<UserGrade> {
      requireCode(body.name, 'name');
      return send({ method: 'POST', path, params: body, repeatable: false, giveUpAfterMs }, readUserGrade);
    },

    /** Changes these fields. @throws NotFoundError */
    async update(id: number, patch: UserGradePatch, { giveUpAfterMs }: CallOptions = {}): Promise<void> {
      if (patch.name !== undefined) requireCode(patch.name, 'name');
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params: patch, giveUpAfterMs }, ignoreBody);
    },

    /** Deletes a grade. One that does not exist is a success. */
    async remove(id: number): Promise<void> {
      return send({ method: 'DELETE', path: `${path}/${requireId(id)}`, notFoundIsSuccess: true }, ignoreBody);
    },
  };
  return api;
}

const readUserGrade = (response: HttpResponse) => asUserGrade(parseJson(response));

function asUserGrade(value: unknown): UserGrade {
  const grade = asObject(value, 'a user grade');
  return {
    ...grade,
    id: asInteger(grade.id, 'id'),
    name: asText(grade.name, 'name'),
    ...textsOf(grade, ['icon_url', 'created_at', 'updated_at']),
  };
}
