/** The widgets of a dashboard on a grid of 24 columns. On a narrow screen they are placed one below the other. */
import type { CSSProperties } from 'react'
import type { Definition } from './definition.ts'
import { inOrder, type Rectangle } from './layout.ts'
import { WidgetView } from './widget.tsx'

/** Returns the position and size of a widget as CSS variables for the style sheet. */
export const placeStyle = ({ x, y, width, height }: Rectangle) =>
  ({ '--x': x + 1, '--y': y + 1, '--width': width, '--height': height }) as CSSProperties

export const Grid = ({ definition }: { definition: Definition }) => (
  <div className="dashboard">
    <div className="dashboard-grid">
      {inOrder(definition.widgets).map((widget) => (
        <div key={widget.id} className="dashboard-cell" style={placeStyle(widget)}>
          <WidgetView widget={widget} />
        </div>
      ))}
    </div>
  </div>
)
