package io.leasehold.cli.output;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Standard output and standard error, in UTF-8 in every locale, one harmless line at a time. Safe for use by any thread;
 * registered secrets are hidden in all output.
 */
public final class Terminal {

    private static final int MIN_SECRET = 3;

    /** Of a line that is wider than the terminal, only the last row could be replaced. */
    static final String NO_WRAP = "\033[?7l";

    static final String WRAP = "\033[?7h";

    private static final String REPLACE = "\r\033[K";

    private final PrintStream out;
    private final PrintStream err;
    private final Supplier<String> whyNotWritten;
    private final BooleanSupplier mayHaveColours;
    private volatile List<String> secrets = List.of();
    private @Nullable Boolean colours;

    /** Creates a terminal without colours over these streams. */
    public Terminal(PrintStream out, PrintStream err) {
        this(out, err, () -> "", () -> false);
    }

    Terminal(PrintStream out, PrintStream err, Supplier<String> whyNotWritten, BooleanSupplier mayHaveColours) {
        this.out = out;
        this.err = err;
        this.whyNotWritten = whyNotWritten;
        this.mayHaveColours = mayHaveColours;
    }

    /** The terminal of this process's standard output and standard error. */
    public static Terminal standard() {
        Remembering out = new Remembering(new FileOutputStream(FileDescriptor.out));
        return new Terminal(
                stream(out),
                stream(new FileOutputStream(FileDescriptor.err)),
                () -> out.problem,
                () -> hasColours(System.getenv()) && leadsToTerminal(1));
    }

    /** Whether a terminal in this environment has colours that its user wants to see: see no-color.org. */
    static boolean hasColours(Map<String, String> environment) {
        return environment.getOrDefault("NO_COLOR", "").isEmpty() && !isDumb(environment);
    }

    /** Whether a terminal in this environment shows escape sequences as text, like that of an editor or a build server. */
    public static boolean isDumb(Map<String, String> environment) {
        String kind = environment.getOrDefault("TERM", "");
        return kind.isEmpty() || kind.equals("dumb");
    }

    private static PrintStream stream(OutputStream out) {
        return new PrintStream(out, true, StandardCharsets.UTF_8);
    }

    /** Records the cause of a failure, which a print stream does not report. */
    private static final class Remembering extends FilterOutputStream {
        private volatile String problem = "";

        Remembering(OutputStream out) {
            super(out);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            try {
                out.write(bytes, from, length);
            } catch (IOException e) {
                problem = String.valueOf(e.getMessage());
                throw e;
            }
        }
    }

    /** Shows these texts as {@code ***} from now on, except those too short to be distinguished from ordinary text. */
    public synchronized void hide(List<String> texts) {
        secrets = texts.stream().filter(text -> text.length() >= MIN_SECRET).toList();
    }

    /** Shows one more text as {@code ***} from now on. */
    public synchronized void hideAlso(String text) {
        hide(Stream.concat(secrets.stream(), Stream.of(text)).distinct().toList());
    }

    /**
     * Writes one line to standard output.
     *
     * @throws OutputGoneException if it cannot be written; likewise in all methods that write there
     */
    public void print(String line) {
        out.println(SafeText.line(hidden(line)));
        checkWritten();
    }

    /** Writes one line to standard output, in its style if that is a terminal with colours. */
    public void print(Line line) {
        print(line, Integer.MAX_VALUE);
    }

    /** Writes at most this many characters of the line. */
    void print(Line line, int columns) {
        String safe = SafeText.line(hidden(line.text()));
        String cut = safe.codePointCount(0, safe.length()) <= columns
                ? safe
                : safe.substring(0, safe.offsetByCodePoints(0, columns));
        out.println(
                line.style() == Style.PLAIN || !colours() ? cut : line.style().on(cut));
        checkWritten();
    }

    /** Checks only when a line has a colour, since the check starts a shell. */
    private synchronized boolean colours() {
        Boolean known = colours;
        if (known == null) {
            known = mayHaveColours.getAsBoolean();
            colours = known;
        }
        return known;
    }

    /** Standard output for text of a library, which asks afterwards whether it {@linkplain #checkWritten was written}. */
    public PrintWriter writer() {
        return new PrintWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8), true);
    }

    /**
     * Checks that all was written to standard output.
     *
     * @throws OutputGoneException if it was not
     */
    public void checkWritten() {
        if (out.checkError()) {
            String why = whyNotWritten.get();
            throw new OutputGoneException("standard output cannot be written: " + why, why.equals("Broken pipe"));
        }
    }

    /** Writes one line of JSON to standard output; only secrets in its texts are hidden. */
    public void printJson(@Nullable Object value) {
        out.println(Json.of(value, this::hidden));
        checkWritten();
    }

    /** Writes the same to standard error: a report for scripts. */
    public void reportJson(@Nullable Object value) {
        err.println(Json.of(value, this::hidden));
    }

    /** Writes lines to standard output. */
    public void print(List<String> lines) {
        lines.forEach(this::print);
    }

    /** Writes a text of Leasehold itself, with its line breaks, to standard output. */
    public void printText(String text) {
        out.print(text);
        checkWritten();
    }

    /** Writes one line to standard error, after the name of the program. */
    public void complain(String line) {
        err.println("leasehold: " + SafeText.line(hidden(line)));
    }

    /** Writes a complaint as its subject and one line of JSON. */
    public void complainJson(String subject, Object value) {
        err.println("leasehold: " + subject + ": " + Json.of(value, this::hidden));
    }

    /**
     * Whether standard output (1) or standard error (2) of this process is a terminal. Asks the shell, which works on every system and every JDK.
     */
    public static boolean leadsToTerminal(int descriptor) {
        try {
            return new ProcessBuilder("/bin/sh", "-c", "test -t " + descriptor)
                            .inheritIO()
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException noShell) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Replaces the last line of standard error, which must be a terminal; for short-lived messages. */
    public void progress(String line) {
        String text = line.isEmpty() ? "" : NO_WRAP + SafeText.line(hidden(line)) + " " + WRAP;
        // In one write: a process that is stopped or killed leaves the terminal as it was.
        err.print(REPLACE + text);
        err.flush();
    }

    private String hidden(String line) {
        String safe = line;
        for (String secret : secrets) {
            safe = safe.replace(secret, "***");
        }
        return safe;
    }
}
