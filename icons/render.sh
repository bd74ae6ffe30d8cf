#!/bin/sh
# Renders every picture from the SVG beside it. Run it after an SVG changed and commit what it made:
#
#   sh icons/render.sh
#
# Needs rsvg-convert (Debian: librsvg2-bin), icotool (icoutils) and png2icns (icnsutils).
#
# Tray pictures have two masters, so that lines fall on whole pixels: `*-16.svg` for 16, 32 and 48 px, `*-22.svg` for
# 22 and 44 px. `*-template-*` are black on clear, for macOS, which colours them itself. `app-icon.svg` is the app's
# icon from 48 px up, `app-icon-small.svg` below.
set -eu
cd "$(dirname "$0")"

png() { rsvg-convert --width "$3" --height "$3" --output "$2" "$1"; }

for state in error idle quiet running waiting; do
    for size in 16 32 48; do png "tray/$state-16.svg" "tray/$state-$size.png" "$size"; done
    for size in 22 44; do
        png "tray/$state-22.svg" "tray/$state-$size.png" "$size"
        png "tray/$state-template-22.svg" "tray/$state-template-$size.png" "$size"
    done
done

png app-icon-small.svg 32x32.png 32
png app-icon.svg 128x128.png 128
png app-icon.svg 128x128@2x.png 256
png app-icon.svg icon.png 512

made=$(mktemp -d)
trap 'rm -r "$made"' EXIT
for size in 16 32; do png app-icon-small.svg "$made/$size.png" "$size"; done
for size in 48 128 256 512; do png app-icon.svg "$made/$size.png" "$size"; done
icotool --create --output icon.ico "$made/16.png" "$made/32.png" "$made/48.png" --raw "$made/256.png"
png2icns icon.icns "$made/16.png" "$made/32.png" "$made/48.png" "$made/128.png" "$made/256.png" "$made/512.png" >/dev/null
