/** The formats of the schemas; a date-time without offset is in the service's zone. */
export const formats = {
  // In every zone, the remaining years have four digits.
  'date-time': (text: string) => isMoment(text) && !/^(0001|9999)/.test(text),
  'date-time-local': isMoment,
  date: isRealDay,
};

/** ISO 8601 or `yyyy-mm-dd hh:mm:ss`, of a day that is in the calendar. */
function isMoment(text: string): boolean {
  const shape = /^(\d{4}-\d\d-\d\d)([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-](0\d|1[0-5]):?[0-5]\d)?)?$/;
  return isRealDay(shape.exec(text)?.[1] ?? '');
}

function isRealDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  if (day.startsWith('0000')) return false;
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
