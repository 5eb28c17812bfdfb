/** The sessions of the caller, with buttons that end one session, or all sessions except the present one. */
import { useState } from 'react'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type Session = ItemOf<'me.sessions.list'>

/**
 * Returns the program that uses a session, such as `Firefox on Linux`: the whole user agent if the program is not known, and the OAuth
 * client if the session has no user agent.
 */
function programOf({ userAgent, clientId }: Session): string {
  if (!userAgent) return clientId ?? texts.unknown
  const nameIn = (names: [RegExp, string][]) => names.find(([pattern]) => pattern.test(userAgent))?.[1]
  const program = nameIn(texts.programs)
  const system = nameIn(texts.systems)
  return program === undefined ? userAgent : system === undefined ? program : `${program} ${texts.on} ${system}`
}

export function Sessions() {
  const list = useList('me.sessions.list', {})
  const [isOpen, setOpen] = useState(false)
  const end = useChange('me.sessions.delete')
  const endOthers = useChange('me.otherSessions.delete')
  const toast = useToast()
  async function endSession(id: string) {
    const outcome = await end.run({ id })
    if (outcome.kind === 'done') toast(texts.ended)
  }
  async function endAll() {
    const outcome = await endOthers.run({})
    if (outcome.kind !== 'done') return
    toast(texts.othersEnded)
    setOpen(false)
  }
  return (
    <Card
      title={texts.sessions}
      flush={list.items.length > 0}
      actions={
        list.items.length > 1 && (
          <Button size="small" onPress={() => setOpen(true)}>
            {texts.endOthers}
          </Button>
        )
      }
    >
      {list.isLoading && <Loading label={texts.sessions} lines={2} />}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {end.problem && <ErrorNote problem={end.problem} />}
      {list.items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.sessionColumns.where}</th>
                <th scope="col">{texts.sessionColumns.started}</th>
                <th scope="col">{texts.sessionColumns.used}</th>
                <th scope="col">{texts.sessionColumns.ends}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {list.items.map((session) => (
                <tr key={session.id}>
                  <th scope="row">
                    <Text value={programOf(session)} max={80} />{' '}
                    {session.current && <Badge tone="good">{texts.thisOne}</Badge>}
                    {session.address && (
                      <div className="quiet">
                        <Text value={texts.from(session.address)} max={60} />
                      </div>
                    )}
                  </th>
                  <td>
                    <Time value={session.startedAt} />
                  </td>
                  <td>
                    <Time value={session.lastUsedAt} />
                  </td>
                  <td>
                    <Time value={session.expiresAt} />
                  </td>
                  <td className="cell-actions">
                    {!session.current && (
                      <Button size="small" onPress={() => void endSession(session.id)}>
                        {texts.end}
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Confirm
        title={texts.endOthersTitle}
        action={texts.endOthers}
        isOpen={isOpen}
        isBusy={endOthers.isRunning}
        problem={endOthers.problem}
        onConfirm={() => void endAll()}
        onClose={() => setOpen(false)}
      >
        {texts.endOthersText}
      </Confirm>
    </Card>
  )
}
