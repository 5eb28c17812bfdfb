/**
 * Shows a dashboard: variables and time above, widgets below. The address contains the chosen values, so a link that a user shares shows
 * the same values.
 */
import { useCallback, useMemo, useState } from 'react'
import type { LiveState } from '../../api/live.ts'
import { useReread } from '../../api/refresh.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { Button } from '../../parts/button.tsx'
import { Note } from '../../parts/notes.tsx'
import { cut } from '../../parts/text.tsx'
import { texts as partTexts } from '../../parts/texts.ts'
import { DashboardProvider, refreshes } from './context.tsx'
import type { Definition } from './definition.ts'
import { Grid } from './grid.tsx'
import { timeDefault, timeName, type Values } from './references.ts'
import { Variables } from './variables.tsx'

/** Returns the parameter of the address for a variable; the prefix distinguishes it from other parameters. */
const addressName = (name: string) => (name === timeName ? 'time' : `var-${name}`)

export interface ViewProps {
  definition: Definition
  /** Values of variables that the page sets, such as the current endpoint. The user cannot change these values. */
  fixedValues?: Values
}

export function DashboardView({ definition, fixedValues: given }: ViewProps) {
  const { variables = [] } = definition
  const hasTime = variables.some(({ kind }) => kind === 'time')
  const address = useAddressState({
    ...{ tab: text('view'), refresh: oneOf(refreshes, 'live') },
    ...Object.fromEntries(variables.map(({ name, value = '' }) => [addressName(name), text(value)])),
    ...(!hasTime && { [addressName(timeName)]: text(timeDefault) }),
  } as { tab: ReturnType<typeof text>; refresh: ReturnType<typeof oneOf<(typeof refreshes)[number]>> })
  const inAddress = address.values as unknown as Record<string, string>
  const values = useMemo(
    () => ({
      ...Object.fromEntries(
        [...(hasTime ? [] : [timeName]), ...variables.map(({ name }) => name)].map((name) => [
          name,
          inAddress[addressName(name)] ?? '',
        ]),
      ),
      ...given,
    }),
    [variables, hasTime, inAddress, given],
  )
  const { set } = address
  const change = useCallback(
    (changed: Values) => {
      const named = Object.entries(changed).map(([name, value]) => [addressName(name), value])
      set(Object.fromEntries(named))
    },
    [set],
  )
  const [live, setLive] = useState<LiveState>()
  const reread = useReread()
  const onTime = useCallback((name: string, value: string) => change({ [name]: value }), [change])
  return (
    <>
      <Variables
        variables={variables.filter(({ name }) => given === undefined || !(name in given))}
        values={values}
        onChange={change}
        refreshing={{
          ...{ refresh: address.values.refresh, live },
          onRefresh: (refresh) => address.set({ refresh }),
          onReload: () => reread('timeSeries', 'endpoints', 'alerts'),
        }}
      />
      {address.invalid.length > 0 && (
        <Note
          tone="warn"
          action={
            <Button size="small" onPress={address.reset}>
              {partTexts.reset}
            </Button>
          }
        >
          {partTexts.badAddress(cut(address.invalid.join(', '), 120).shown)}
        </Note>
      )}
      <DashboardProvider
        definition={definition}
        values={values}
        onTime={onTime}
        refresh={address.values.refresh}
        onLiveState={setLive}
      >
        <Grid definition={definition} />
      </DashboardProvider>
    </>
  )
}
