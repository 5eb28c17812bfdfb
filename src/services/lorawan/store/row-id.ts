/** Returns 0 for an integer that cannot be the id of a row. No row has the id 0, so the response is the same as for an unknown id. */
export const rowIdOf = (id: number) => (id > 0 && id <= 2_147_483_647 ? id : 0)
