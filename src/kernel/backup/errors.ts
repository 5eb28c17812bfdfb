export class BackupError extends Error {
  override readonly name = 'BackupError'
}

export const damagedError = (path: string, how: string) =>
  new BackupError(`${path} is damaged: ${how}. Nothing was changed; use another copy`)
