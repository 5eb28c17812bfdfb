/** Generates the measurements of a simulated device. The values are plausible and change a little from sample to sample. */

export interface Sample {
  timestamp: number
  temperature: number
  humidity: number
  battery: number
  latitude: number
  longitude: number
}

export interface Measurements {
  sample(at: Date): Sample
}

const dayMs = 24 * 3600 * 1000
const rounded = (value: number, digits: number) => Number(value.toFixed(digits))
const clamp = (low: number, value: number, high: number) => Math.min(high, Math.max(low, value))

/**
 * Creates the measurements of a device. The temperature is highest in the afternoon. The device moves around a town, and gets a new battery
 * when its battery is empty.
 */
export function createMeasurements(deviceNumber: number, random: () => number = Math.random): Measurements {
  const randomStep = (range: number) => (random() - 0.5) * range
  const baseTemperature = 18 + (deviceNumber % 8)
  let drift = 0
  let battery = 60 + random() * 40
  let latitude = 50.45 + randomStep(0.2)
  let longitude = 30.52 + randomStep(0.3)
  return {
    sample(at) {
      const timestamp = at.getTime()
      const dailySwing = 5 * Math.sin(((timestamp % dayMs) / dayMs - 0.375) * 2 * Math.PI)
      drift = clamp(-2, drift + randomStep(0.4), 2)
      battery -= 0.01 + random() * 0.02
      if (battery < 5) battery = 100
      latitude = clamp(-89, latitude + randomStep(0.0005), 89)
      longitude = clamp(-179, longitude + randomStep(0.0008), 179)
      const temperature = baseTemperature + dailySwing + drift
      return {
        timestamp,
        temperature: rounded(temperature, 2),
        humidity: rounded(clamp(5, 75 - temperature * 1.2 + randomStep(3), 99), 1),
        battery: rounded(battery, 1),
        latitude: rounded(latitude, 5),
        longitude: rounded(longitude, 5),
      }
    },
  }
}
