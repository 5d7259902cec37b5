package io.leasehold.cli.output;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The whole screen of a terminal, for a display that is redrawn repeatedly: on the terminal's second screen, without a
 * cursor, and with a key that quits. Afterwards the terminal has its former content and settings, even if a signal ends
 * this process. Any thread may use it.
 */
public final class Screen implements AutoCloseable {

    /** Without wrapping: a line with wide characters may take more columns than it has characters. */
    private static final String ENTER = "\033[?1049h\033[?25l" + Terminal.NO_WRAP;

    private static final String LEAVE = Terminal.WRAP + "\033[?25h\033[?1049l";
    private static final String HOME_AND_CLEAR = "\033[H\033[2J";

    private static final String STTY = "trap '' INT QUIT TERM HUP; exec stty \"$@\"";

    private final Terminal terminal;
    /** The former settings of the terminal; null if there is no keyboard. */
    private final @Nullable String settings = stty("-g");

    private final CountDownLatch quit = new CountDownLatch(1);
    private final Thread atExit = new Thread(this::leaveForGood, "leasehold-screen");
    private boolean entered;
    private boolean closed;

    private Screen(Terminal terminal) {
        this.terminal = terminal;
    }

    /** Takes the screen of this terminal, to which standard output must lead. */
    public static Screen take(Terminal terminal) {
        Screen screen = new Screen(terminal);
        Runtime.getRuntime().addShutdownHook(screen.atExit);
        screen.enter();
        if (screen.hasKeyboard()) {
            Thread keys = new Thread(screen::readKeys, "leasehold-keys");
            keys.setDaemon(true);
            keys.start();
        }
        return screen;
    }

    /** Whether a key can quit. */
    public boolean hasKeyboard() {
        return settings != null;
    }

    private void readKeys() {
        try {
            for (int key; (key = System.in.read()) >= 0; ) {
                if (key == 'q' || key == 'Q') {
                    quit.countDown();
                }
            }
        } catch (IOException gone) {
            // No more keys.
        }
    }

    /** Waits; returns whether the user has quit. */
    public boolean awaitQuit(Duration most) throws InterruptedException {
        return quit.await(most.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Takes the screen again after {@link #leave}. */
    public synchronized void enter() {
        if (closed || entered) {
            return;
        }
        entered = true;
        if (settings != null) {
            stty("-icanon", "-echo", "min", "1", "time", "0");
        }
        terminal.printText(ENTER);
    }

    /** Releases the screen for a while: nothing is drawn. */
    public synchronized void leave() {
        if (!entered) {
            return;
        }
        entered = false;
        String before = settings;
        if (before != null) {
            stty(before);
        }
        try {
            terminal.printText(LEAVE);
        } catch (OutputGoneException gone) {
            // Then there is no screen any more.
        }
    }

    private synchronized void leaveForGood() {
        closed = true;
        leave();
    }

    /** Shows these lines and nothing else, as far as they fit. */
    public synchronized void draw(List<Line> lines) {
        if (!entered) {
            return;
        }
        int[] size = size();
        List<Line> shown = lines;
        if (lines.size() >= size[0]) {
            shown = new ArrayList<>(lines.subList(0, Math.max(0, size[0] - 2)));
            shown.add(new Line(Style.PLAIN, "\u2026 and " + (lines.size() - shown.size()) + " more lines"));
        }
        terminal.printText(HOME_AND_CLEAR);
        shown.forEach(line -> terminal.print(line, size[1]));
    }

    /** The rows and columns; unlimited if unknown. */
    private int[] size() {
        String[] told = String.valueOf(settings == null ? null : stty("size")).split(" ", -1);
        try {
            int rows = Integer.parseInt(told[0]);
            int columns = Integer.parseInt(told[told.length - 1]);
            if (rows > 0 && columns > 0) {
                return new int[] {rows, columns};
            }
        } catch (NumberFormatException unknown) {
            // Treat it as a terminal that does not report its size.
        }
        return new int[] {Integer.MAX_VALUE, Integer.MAX_VALUE};
    }

    /**
     * Queries or sets the terminal of standard input; null if standard input is not a terminal. Another Ctrl-C reaches the
     * started program, too, and would leave the terminal without echo.
     */
    private static @Nullable String stty(String... arguments) {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", STTY, "sh"));
        command.addAll(List.of(arguments));
        try {
            Process stty = new ProcessBuilder(command)
                    .redirectInput(ProcessBuilder.Redirect.INHERIT)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String said = new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
            return stty.waitFor() == 0 ? said : null;
        } catch (IOException noStty) {
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    @Override
    public void close() {
        leaveForGood();
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException exits) {
            // It runs already.
        }
    }
}
