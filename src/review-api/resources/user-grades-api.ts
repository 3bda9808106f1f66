import type { InferOutput } from 'valibot';
import type { CallOptions, Send } from '../http/call.ts';
import { reading } from '../http/decode.ts';
import { integer, newId, record, text, textOrNull } from '../http/shape.ts';
import { listOperations, operationsById } from './resource.ts';

const path = '/v1/user_grades';

const fields = { name: text, icon_url: textOrNull, created_at: textOrNull, updated_at: textOrNull };
const userGrade = record({ id: integer, ...fields });
const newGrade = record({ id: newId, ...fields });

/** A member grade (docs/interface.md, "User grade"). Dates are ISO 8601 with offset. Other fields stay unchanged. */
export type UserGrade = InferOutput<typeof userGrade>;

/** Body of `POST /v1/user_grades`. The icon is 20 pixels wide or high. */
export type UserGradeBody = { name: string; icon_url?: string | undefined };

/**
 * Fields to change. A field that is left out stays unchanged. A null icon is sent as an empty value; the spec does not
 * say whether that removes the icon, so read the grade again.
 */
export type UserGradePatch = { name?: string | undefined; icon_url?: string | null | undefined };

/** Member grades (docs/interface.md, "User grades"). They have no code, only the service's id. */
export function userGradesApi(send: Send) {
  const resource = { path, shape: userGrade, params: (patch: UserGradePatch) => patch };
  const { get, update, remove } = operationsById(send, resource);
  return {
    get,
    update,
    remove,
    ...listOperations<UserGrade>(send, resource, () => ({})),

    /**
     * Adds a grade. Each request adds one, so the client never repeats it after a lost response.
     *
     * @throws UnknownOutcomeError when the response is lost: look for the name in the list.
     * @example const { id } = await api.userGrades.create({ name: 'Gold' });
     */
    async create(body: UserGradeBody, options: CallOptions = {}): Promise<UserGrade> {
      const call = { method: 'POST', path, params: body, repeatable: false, ...options } as const;
      return send(call, reading(newGrade));
    },
  };
}
