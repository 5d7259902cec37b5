package io.leasehold.benchmarks.report;

import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * A readable report of a run: a table per workload, the targets, the figures in which Leasehold is worse, and the use
 * of commands.
 */
public final class Report {

    private static final double NOTICEABLE = 1.05;

    private final RunRecord run;
    private final Map<String, String> titles;
    private final Set<String> series;
    private final List<Group> groups;

    /**
     * Creates a report of this run.
     *
     * @param titles the titles of the workloads, by id
     * @param series the workloads whose variants share one table
     */
    public Report(RunRecord run, Map<String, String> titles, Set<String> series) {
        this.run = run;
        this.titles = Map.copyOf(titles);
        this.series = Set.copyOf(series);
        this.groups = Group.of(run.samples());
    }

    /** The report for a terminal. */
    public String text() {
        return render("", "\n", Grid::text, "  ");
    }

    /** The report for a page. */
    public String markdown() {
        return render("### ", "\n\n", Grid::markdown, "- ");
    }

    private String render(String heading, String afterHeading, Function<Grid, String> tables, String item) {
        StringBuilder text = new StringBuilder();
        run.conditions()
                .forEach((what, value) -> text.append(item)
                        .append(what)
                        .append(": ")
                        .append(value)
                        .append('\n'));
        for (List<Group> together : tables()) {
            Group first = together.get(0);
            String variant = series.contains(first.workload()) ? "" : " – " + first.variant();
            text.append('\n')
                    .append(heading)
                    .append(first.workload())
                    .append(". ")
                    .append(titles.getOrDefault(first.workload(), ""))
                    .append(variant)
                    .append(afterHeading)
                    .append(tables.apply(table(together, variant.isEmpty())));
        }
        text.append('\n').append(heading).append("Targets").append(afterHeading).append(tables.apply(targets()));
        text.append('\n').append(heading).append("Where we lose").append(afterHeading);
        List<String> losses = losses();
        losses.forEach(loss -> text.append(item).append(loss).append('\n'));
        if (losses.isEmpty()) {
            text.append(item).append("nowhere in this run\n");
        }
        text.append('\n').append(heading).append("Commands at the server").append(afterHeading);
        text.append(item)
                .append("calls × microseconds of each, per pair; where nothing is paired, in the whole window\n");
        commands().forEach(line -> text.append(item).append(line).append('\n'));
        return text.toString();
    }

    /** The groups that share a table, in the order of measurement. */
    private Collection<List<Group>> tables() {
        Map<String, List<Group>> tables = new LinkedHashMap<>();
        for (Group group : groups) {
            String key =
                    series.contains(group.workload()) ? group.workload() : group.workload() + "\n" + group.variant();
            tables.computeIfAbsent(key, missing -> new ArrayList<>()).add(group);
        }
        return tables.values();
    }

    private static Grid table(List<Group> together, boolean namesVariants) {
        EnumSet<Figure> all = EnumSet.noneOf(Figure.class);
        together.forEach(group -> all.addAll(group.figures()));
        List<Figure> figures = List.copyOf(all);
        Figure main = figures.get(0);
        List<String> head = new ArrayList<>(List.of("", main.label(), "÷ raw", "÷ redisson"));
        figures.subList(1, figures.size()).forEach(figure -> head.add(figure.label()));
        List<List<String>> rows = new ArrayList<>();
        for (Group group : together) {
            for (PeerKind peer : group.peers()) {
                List<String> row = new ArrayList<>();
                row.add((namesVariants ? group.variant() + ", " : "") + peer.label());
                row.add(group.summary(peer, main).map(Numbers::show).orElse("–"));
                row.add(group.ratio(peer, PeerKind.RAW, main)
                        .map(Numbers::ratio)
                        .orElse("–"));
                row.add(group.ratio(peer, PeerKind.REDISSON, main)
                        .map(Numbers::ratio)
                        .orElse("–"));
                for (Figure figure : figures.subList(1, figures.size())) {
                    row.add(group.summary(peer, figure)
                            .map(summary -> Numbers.show(summary.median()))
                            .orElse("–"));
                }
                rows.add(row);
            }
        }
        return new Grid(head, rows);
    }

    private Grid targets() {
        List<List<String>> rows = new ArrayList<>();
        for (Target target : Target.all()) {
            for (Group group : groups) {
                target.judge(group)
                        .ifPresent(verdict -> rows.add(List.of(
                                target.workload() + " " + verdict.variant() + ", "
                                        + target.peer().label(),
                                target.text(),
                                Numbers.show(verdict.reached()),
                                verdict.met() ? "reached" : "MISSED")));
            }
        }
        return new Grid(List.of("", "target", "this run", ""), rows);
    }

    /** Every figure in which Leasehold is noticeably worse than a peer. */
    private List<String> losses() {
        List<String> losses = new ArrayList<>();
        for (Group group : groups) {
            for (PeerKind ours : group.peers()) {
                if (ours.isOurs()) {
                    List<String> against = lostAgainstOthers(group, ours);
                    if (!against.isEmpty()) {
                        losses.add(group.workload() + " " + group.variant() + ", " + ours.label() + ": "
                                + String.join("; ", against));
                    }
                }
            }
        }
        return losses;
    }

    private static List<String> lostAgainstOthers(Group group, PeerKind ours) {
        List<String> against = new ArrayList<>();
        for (Figure figure : group.figures()) {
            double own = group.summary(ours, figure).map(Summary::median).orElse(Double.NaN);
            List<String> better = new ArrayList<>();
            for (PeerKind peer : group.peers()) {
                double other = group.summary(peer, figure).map(Summary::median).orElse(Double.NaN);
                boolean loses = figure.moreIsBetter() ? own * NOTICEABLE < other : own > other * NOTICEABLE;
                if (!peer.isOurs() && loses) {
                    better.add(Numbers.show(other) + " " + peer.label());
                }
            }
            if (!better.isEmpty()) {
                against.add(figure.label() + " " + Numbers.show(own) + " (" + String.join(", ", better) + ")");
            }
        }
        return against;
    }

    private List<String> commands() {
        List<String> lines = new ArrayList<>();
        for (Group group : groups) {
            for (PeerKind peer : group.peers()) {
                List<String> parts = new ArrayList<>();
                new TreeMap<>(group.commands(peer)).forEach((name, use) -> {
                    if (use[0] >= 0.01) {
                        parts.add(name + " " + Numbers.show(use[0]) + " × " + Numbers.show(use[1]));
                    }
                });
                if (!parts.isEmpty()) {
                    lines.add(group.workload() + " " + group.variant() + ", " + peer.label() + ": "
                            + String.join(", ", parts));
                }
            }
        }
        return lines;
    }
}
