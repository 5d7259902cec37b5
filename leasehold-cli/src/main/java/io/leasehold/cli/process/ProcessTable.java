package io.leasehold.cli.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The processes of this machine at one moment, without zombies: from {@code /proc} where it exists, else from
 * {@code ps}.
 */
sealed interface ProcessTable {

    /**
     * A process.
     *
     * @param pid its id
     * @param parent its parent's id
     * @param group its process group
     * @param session its session
     * @param start its start, in a unit of the system: together with the id it identifies one process uniquely; 0 if
     *     unknown
     */
    record Row(long pid, long parent, long group, long session, long start) {}

    /** All of them. */
    List<Row> rows() throws IOException;

    /** One of them, or empty if it has ended. */
    default Optional<Row> row(long pid) throws IOException {
        return rows().stream().filter(row -> row.pid() == pid).findFirst();
    }

    /** Whether the process was started with the mark in its environment, as far as this process may read it. */
    boolean carries(Row row, byte[] mark);

    /** Whether the process has a handler for the signal with this number, as far as this process may read it. */
    boolean catches(Row row, int signal);

    /** The best table on this system. */
    static ProcessTable ofThisSystem() {
        Path proc = Path.of("/proc");
        return Files.isReadable(proc.resolve("self/environ")) ? new Proc(proc) : new Ps();
    }

    /**
     * Linux.
     *
     * @param root {@code /proc}
     */
    record Proc(Path root) implements ProcessTable {

        /** The index of the number of threads after the name. */
        private static final int THREADS_FIELD = 17;

        /** The index of the start after the name. */
        private static final int START_FIELD = 19;

        /** The set of the caught signals, of which the lowest bit is signal 1. */
        private static final Pattern CAUGHT = Pattern.compile("\nSigCgt:\\s*([0-9a-fA-F]{1,16})\n");

        @Override
        public List<Row> rows() throws IOException {
            List<Row> rows = new ArrayList<>();
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(root, Proc::isProcess)) {
                for (Path entry : entries) {
                    row(entry).ifPresent(rows::add);
                }
            } catch (UncheckedIOException | java.nio.file.DirectoryIteratorException e) {
                throw new IOException(e);
            }
            return rows;
        }

        private static boolean isProcess(Path entry) {
            char first = entry.getFileName().toString().charAt(0);
            return first >= '1' && first <= '9';
        }

        @Override
        public Optional<Row> row(long pid) {
            return row(root.resolve(Long.toString(pid)));
        }

        private static Optional<Row> row(Path entry) {
            String stat;
            try {
                stat = Files.readString(entry.resolve("stat"), StandardCharsets.ISO_8859_1);
            } catch (IOException ended) {
                return Optional.empty();
            }
            // pid (name) state ppid pgrp session …: the name may contain any character, even spaces and parentheses.
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", START_FIELD + 2);
            // A process of which only the first thread has ended is also shown as a zombie, and continues in the
            // others.
            boolean zombie = fields[0].equals("Z") && Long.parseLong(fields[THREADS_FIELD]) <= 1;
            if (zombie || fields[0].equals("X")) {
                return Optional.empty();
            }
            return Optional.of(new Row(
                    Long.parseLong(entry.getFileName().toString()),
                    Long.parseLong(fields[1]),
                    Long.parseLong(fields[2]),
                    Long.parseLong(fields[3]),
                    Long.parseLong(fields[START_FIELD])));
        }

        @Override
        public boolean carries(Row row, byte[] mark) {
            try {
                byte[] environment = Files.readAllBytes(
                        root.resolve(Long.toString(row.pid())).resolve("environ"));
                return contains(environment, mark);
            } catch (IOException endedOrNotOurs) {
                return false;
            }
        }

        @Override
        public boolean catches(Row row, int signal) {
            String status;
            try {
                Path file = root.resolve(Long.toString(row.pid())).resolve("status");
                status = Files.readString(file, StandardCharsets.ISO_8859_1);
            } catch (IOException ended) {
                return false;
            }
            Matcher caught = CAUGHT.matcher(status);
            return caught.find() && (Long.parseUnsignedLong(caught.group(1), 16) >>> (signal - 1) & 1) == 1;
        }

        private static boolean contains(byte[] text, byte[] part) {
            for (int i = 0; i + part.length <= text.length; i++) {
                if (text[i] == part[0] && Arrays.equals(text, i, i + part.length, part, 0, part.length)) {
                    return true;
                }
            }
            return false;
        }
    }

    /**
     * Other systems.
     *
     * @param program {@code ps}
     */
    record Ps(String program) implements ProcessTable {

        Ps() {
            this("ps");
        }

        @Override
        public List<Row> rows() throws IOException {
            List<Row> rows = rows("sess=");
            // A ps that has no such column prints nothing at all, or one column less.
            if (rows.isEmpty()) {
                rows = rows("pgid=");
            }
            // An empty table would mean that all processes of a command have ended.
            long self = ProcessHandle.current().pid();
            if (rows.stream().noneMatch(row -> row.pid() == self)) {
                throw new IOException(program + " does not show this process");
            }
            return rows;
        }

        private List<Row> rows(String session) throws IOException {
            // To the ps of FreeBSD, everything after the first equals sign of an option is a heading.
            Process ps = new ProcessBuilder(
                            program, "-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", session, "-o", "stat=")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            ps.getOutputStream().close();
            return parsed(new String(ps.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1), ps.pid());
        }

        /** The rows in this output, without that process; a session that is shown as an address, or as 0, is the group. */
        static List<Row> parsed(String text, long except) {
            List<Row> rows = new ArrayList<>();
            for (String line : text.split("\n", -1)) {
                String[] fields = line.strip().split("\\s+", -1);
                if (fields.length >= 5 && !fields[4].startsWith("Z") && Long.parseLong(fields[0]) != except) {
                    long group = Long.parseLong(fields[2]);
                    long session = fields[3].matches("[1-9][0-9]{0,9}") ? Long.parseLong(fields[3]) : group;
                    rows.add(new Row(Long.parseLong(fields[0]), Long.parseLong(fields[1]), group, session, 0));
                }
            }
            return rows;
        }

        @Override
        public boolean carries(Row row, byte[] mark) {
            return false;
        }

        /** No option of {@code ps} shows it on all these systems. */
        @Override
        public boolean catches(Row row, int signal) {
            return false;
        }
    }
}
