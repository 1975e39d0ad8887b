# Bars side by side: gnuplot -c plot.gp DATA.tsv PICTURE.svg TITLE. A line of the data is a place, a column a contender.
set terminal svg size 1100,420 dynamic background "white" font "sans-serif,11"
set output ARG2
set title ARG3
set datafile separator "\t"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 noborder
set grid ytics linecolor "#dddddd"
set border 3
set bmargin 5  # the places take three lines
set xtics nomirror out scale 0 font ",9"
set ytics nomirror
set yrange [0:*]
set key outside right top
array colours[5] = ["#888888", "#c0392b", "#2980b9", "#27ae60", "#d4a017"]
plot for [column = 2:6] ARG1 using column:xtic(1) title columnheader(column) linecolor rgb colours[column - 1]
