package io.leasehold.verify.client;

import io.leasehold.LeaseTicket;
import io.leasehold.simulator.history.Violation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The tickets of a run, as files that all client processes read: a ticket is used by several of them, and after its
 * claim. Each use that returned a lease leaves a file, too.
 */
public final class TicketFiles {

    private static final String TICKET = ".ticket";
    private static final String USED = ".used";
    private static final int NEWEST = 3;

    private final Path directory;

    /** The directory in which the client processes of a run share tickets. */
    public static Path directoryIn(Path run) {
        return run.resolve("tickets");
    }

    /** The tickets in this directory. */
    public TicketFiles(Path directory) {
        this.directory = directory;
    }

    /**
     * A ticket.
     *
     * @param file its name
     * @param token the token of the exported lease
     */
    record Issued(String file, LeaseTicket ticket, long token) {}

    void issued(LeaseTicket ticket, long token, String process) {
        String file = plain(ticket.lockName().text() + "@" + System.nanoTime() + "-" + process) + TICKET;
        write(file, token + "\n" + ticket.text());
    }

    /** One of the newest tickets of this lock, used or not, in every second call. */
    @Nullable
    Issued any(String lock, SplittableRandom random) {
        if (random.nextBoolean()) {
            return null;
        }
        List<Path> newest = files(TICKET).stream()
                .filter(file -> file.getFileName().toString().startsWith(plain(lock) + "@"))
                .sorted(Comparator.reverseOrder())
                .limit(NEWEST)
                .toList();
        if (newest.isEmpty()) {
            return null;
        }
        Path file = newest.get(random.nextInt(newest.size()));
        List<String> lines = lines(file);
        return new Issued(file.getFileName().toString(), LeaseTicket.parse(lines.get(1)), Long.parseLong(lines.get(0)));
    }

    /** A use of the ticket has returned a lease with this token. */
    void resumed(Issued issued, long token, String process) {
        write(
                plain(issued.file + "-" + System.nanoTime() + "-" + process) + USED,
                issued.file + "\n" + issued.token + "\n" + token + "\n"
                        + issued.ticket.lockName().text());
    }

    /** A ticket that gave two leases, and a lease of another holder between an export and its resume. */
    public List<Violation> check(TokensBetween held) {
        List<Violation> violations = new ArrayList<>();
        Map<String, String> uses = new HashMap<>();
        for (Path file : files(USED)) {
            List<String> lines = lines(file);
            String ticket = lines.get(0);
            String lock = lines.get(3);
            String earlier = uses.put(ticket, lines.get(2));
            if (earlier != null) {
                violations.add(new Violation(
                        lock, "a ticket gave two leases, with tokens " + earlier + " and " + lines.get(2)));
            }
            long exported = Long.parseLong(lines.get(1));
            long resumed = Long.parseLong(lines.get(2));
            if (resumed <= exported) {
                violations.add(new Violation(lock, "resumed with token " + resumed + " after " + exported));
            }
            for (long between : held.tokens(lock, exported, resumed)) {
                violations.add(new Violation(
                        lock, "token " + between + " was held between an export, " + exported + ", and " + resumed));
            }
        }
        return violations;
    }

    /** The number of tickets that gave a lease. */
    public int used() {
        return files(USED).size();
    }

    /** Returns the tokens of leases of a lock that are above the one and below the other. */
    @FunctionalInterface
    public interface TokensBetween {
        /** The tokens. */
        List<Long> tokens(String lock, long above, long below);
    }

    private List<Path> files(String suffix) {
        try (Stream<Path> all = Files.list(directory)) {
            return all.filter(file -> file.toString().endsWith(suffix)).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Names of locks and processes may have slashes. */
    private static String plain(String name) {
        return name.replace('/', '_');
    }

    /** Other processes see the whole file or none. */
    private void write(String file, String text) {
        try {
            Path whole = Files.writeString(directory.resolve(file + ".part"), text);
            Files.move(whole, directory.resolve(file), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
