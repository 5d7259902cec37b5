package io.leasehold.cli.command;

import io.leasehold.LockClient;
import io.leasehold.cli.output.Line;
import io.leasehold.cli.output.Screen;
import io.leasehold.cli.output.Style;
import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.TerminalStop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The table of {@code watch} on a terminal, drawn in place at each poll; what is new since the last one is green. */
final class LiveTable implements WatchView {

    private final Terminal terminal;
    private final Screen screen;
    private final TerminalStop stops;
    /** The lines drawn last, without the hint to the key that quits. */
    private volatile List<Line> last = List.of();

    /** The address of the metrics, which comes first, and the latest other remark: what is not drawn again is lost. */
    private final List<String> remarks = new ArrayList<>();

    private List<Line> rows = List.of();
    private Set<String> before = Set.of();
    private boolean shownBefore;
    private String store = "";

    private LiveTable(Terminal terminal) {
        this.terminal = terminal;
        this.screen = Screen.take(terminal);
        this.stops = TerminalStop.surrounded(screen::leave, this::comeBack);
    }

    /** Takes the screen of this terminal. */
    static LiveTable on(Terminal terminal) {
        return new LiveTable(terminal);
    }

    private void comeBack() {
        screen.enter();
        drawLast();
    }

    @Override
    public void show(LockClient locks, Listing listing) {
        HeldTable table = HeldTable.of(locks, listing.held());
        store = locks.storeDescription();
        List<Line> all = new ArrayList<>();
        if (listing.isCut()) {
            all.add(new Line(Style.PLAIN, listing.remark()));
        }
        all.addAll(table.lines(row -> shownBefore && !before.contains(hold(row)) ? Style.GOOD : Style.PLAIN));
        rows = all;
        Set<String> now = new HashSet<>();
        table.rows().forEach(row -> now.add(hold(row)));
        before = now;
        shownBefore = true;
        String held = (listing.isCut() ? "more than " : "") + table.rows().size() + " held";
        draw(new Line(Style.HEADING, store + "  " + WatchView.now() + "  " + held));
    }

    /** Names one hold of one lock. */
    private static String hold(HeldTable.Row row) {
        return row.lock().name().text() + " " + row.lock().holder().id() + " "
                + row.lock().holder().fencingToken();
    }

    @Override
    public void storeIsDown(String why) {
        draw(new Line(Style.BAD, store + "  " + WatchView.now() + "  STORE DOWN, last seen below: " + why));
    }

    @Override
    public void remark(String line) {
        if (remarks.size() > 1) {
            remarks.remove(1);
        }
        remarks.add(line);
    }

    private void draw(Line heading) {
        List<Line> lines = new ArrayList<>();
        lines.add(heading);
        remarks.forEach(remark -> lines.add(new Line(Style.PLAIN, remark)));
        lines.addAll(rows);
        last = lines;
        drawLast();
    }

    private void drawLast() {
        List<Line> lines = new ArrayList<>(last);
        if (!lines.isEmpty() && screen.hasKeyboard()) {
            lines.set(0, new Line(lines.get(0).style(), lines.get(0).text() + "  (q quits)"));
        }
        screen.draw(lines);
    }

    @Override
    public boolean awaitQuit(Duration most) throws InterruptedException {
        return screen.awaitQuit(most);
    }

    @Override
    public void leaveLast() {
        close();
        last.forEach(terminal::print);
    }

    @Override
    public void close() {
        stops.close();
        screen.close();
    }
}
