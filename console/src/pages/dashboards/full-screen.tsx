/** Shows only the dashboard on the screen: without navigation, and without the frame of the browser if the browser allows it. */
import { useEffect, useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { texts } from './texts.ts'

const mark = 'fullScreen'

export function FullScreen() {
  const [isOn, setOn] = useState(false)
  useEffect(() => {
    if (!isOn) return
    const root = document.documentElement
    root.dataset[mark] = ''
    const leave = () => document.fullscreenElement === null && setOn(false)
    const leaveByKey = (event: KeyboardEvent) => event.key === 'Escape' && !event.defaultPrevented && setOn(false)
    // A browser may refuse the full screen. The navigation is still hidden.
    root.requestFullscreen?.().then(
      () => document.addEventListener('fullscreenchange', leave),
      () => {},
    )
    addEventListener('keydown', leaveByKey)
    return () => {
      delete root.dataset[mark]
      document.removeEventListener('fullscreenchange', leave)
      removeEventListener('keydown', leaveByKey)
      if (document.fullscreenElement !== null) void document.exitFullscreen()
    }
  }, [isOn])
  return (
    <Button icon={isOn ? 'x' : 'maximize'} onPress={() => setOn(!isOn)}>
      {isOn ? texts.leaveFullScreen : texts.fullScreen}
    </Button>
  )
}
