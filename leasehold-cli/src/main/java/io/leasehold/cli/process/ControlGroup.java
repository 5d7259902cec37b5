package io.leasehold.cli.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A control group for one run, below that of this process. A process started in it stays in it, independent of session,
 * parent, user and environment: only a process with the right to write to the control groups can move it out.
 *
 * <p>A new process belongs to the group of its parent. Therefore this process {@linkplain #enter enters},
 * starts the command, and {@linkplain #leave leaves}: the command never runs outside.
 *
 * <p>Uses the unified hierarchy (version 2), else one of version 1; in both, the same file moves and lists members. For one
 * thread, except {@link #pids}, {@link #kill} and {@link #contains}, which any thread may call.
 */
final class ControlGroup {

    /** The prefix of the directories of Leasehold's groups; the creating process, its start, and the run follow. */
    static final String PREFIX = "leasehold-";

    private static final String MEMBERS = "cgroup.procs";
    private static final String KILL = "cgroup.kill";

    /** The controllers of version 1 in which a new group changes nothing else for its members. */
    private static final List<String> OLD_HIERARCHIES = List.of("freezer", "pids", "name=systemd");

    private static final int MAX_DEPTH = 16;

    private final Path home;
    private final Path directory;
    private final long ownPid = ProcessHandle.current().pid();

    private ControlGroup(Path home, Path directory) {
        this.home = home;
        this.directory = directory;
    }

    /** Creates a group for this run; null if none is mounted, or this user must not create one. */
    static @Nullable ControlGroup make(RunMark mark) {
        try {
            return make(
                    mark,
                    Files.readAllLines(Path.of("/proc/self/mountinfo"), StandardCharsets.ISO_8859_1),
                    Files.readAllLines(Path.of("/proc/self/cgroup"), StandardCharsets.ISO_8859_1));
        } catch (IOException notLinux) {
            return null;
        }
    }

    /** The same with these lines of {@code mountinfo} and {@code cgroup}. */
    static @Nullable ControlGroup make(RunMark mark, List<String> mounts, List<String> memberships) {
        for (Path home : homes(mounts, memberships)) {
            ControlGroup made = makeIn(home, mark);
            if (made != null) {
                return made;
            }
        }
        return null;
    }

    /** The directories of the groups this process is in, the best first. */
    private static List<Path> homes(List<String> mounts, List<String> memberships) {
        List<Path> homes = new ArrayList<>();
        for (String line : memberships) {
            if (line.startsWith("0::")) {
                addHomes(homes, mounts, "cgroup2", null, line.substring("0::".length()));
            }
        }
        for (String hierarchy : OLD_HIERARCHIES) {
            for (String line : memberships) {
                String[] parts = line.split(":", 3);
                if (parts.length == 3 && List.of(parts[1].split(",")).contains(hierarchy)) {
                    addHomes(homes, mounts, "cgroup", hierarchy, parts[2]);
                }
            }
        }
        return homes;
    }

    /** The directories of the group with this path in these mounts; a mount may show only a part of the hierarchy. */
    private static void addHomes(
            List<Path> homes, List<String> mounts, String type, @Nullable String option, String path) {
        for (String mount : mounts) {
            // id parent device root mount-point options … - type source options
            int dash = mount.indexOf(" - ");
            String[] place = mount.split(" ", 6);
            String[] what = dash < 0 ? new String[0] : mount.substring(dash + 3).split(" ", 3);
            if (place.length < 6 || what.length < 3 || !what[0].equals(type)) {
                continue;
            }
            if (option != null && !List.of(what[2].split(",")).contains(option)) {
                continue;
            }
            String root = place[3].equals("/") ? "" : place[3];
            boolean shown = path.equals(root) || path.startsWith(root + "/");
            if (shown && place[4].indexOf('\\') < 0) {
                homes.add(Path.of(place[4] + path.substring(root.length())));
            }
        }
    }

    private static @Nullable ControlGroup makeIn(Path home, RunMark mark) {
        long pid = ProcessHandle.current().pid();
        try {
            if (!members(home).contains(pid)) {
                return null;
            }
            sweep(home);
            long start = ProcessTable.ofThisSystem().row(pid).orElseThrow().start();
            ControlGroup group = new ControlGroup(home, home.resolve(PREFIX + pid + "-" + start + "-" + mark.text()));
            return group.works() ? group : null;
        } catch (IOException | RuntimeException noGroup) {
            return null;
        }
    }

    /** Tests whether this process can enter and leave, before anything depends on it. */
    private boolean works() {
        try {
            enter();
            leave();
            return !contains(ownPid);
        } catch (IOException refused) {
            remove();
            return false;
        }
    }

    /** Removes the groups of other runs whose processes have all ended. */
    private static void sweep(Path home) throws IOException {
        ProcessTable table = ProcessTable.ofThisSystem();
        try (DirectoryStream<Path> groups = Files.newDirectoryStream(home, PREFIX + "*")) {
            for (Path group : groups) {
                String[] maker = group.getFileName().toString().split("-", 4);
                long pid = maker.length < 4 ? 0 : Long.parseLong(maker[1]);
                boolean gone = pid > 0
                        && table.row(pid)
                                .filter(row -> Long.toString(row.start()).equals(maker[2]))
                                .isEmpty();
                if (gone) {
                    removeEmpty(group);
                }
            }
        } catch (NumberFormatException notOurs) {
            // A similar name that Leasehold did not create: keep it.
        }
    }

    /** Its directory. */
    Path directory() {
        return directory;
    }

    /** Moves this process into it. */
    void enter() throws IOException {
        try {
            Files.createDirectory(directory);
        } catch (java.nio.file.FileAlreadyExistsException made) {
            // Impossible after works(), unless a process in another pid namespace removed it meanwhile.
        }
        move(directory);
    }

    /** Moves this process and its threads back to its former group. */
    void leave() throws IOException {
        move(home);
    }

    private void move(Path group) throws IOException {
        Files.writeString(group.resolve(MEMBERS), Long.toString(ownPid), StandardOpenOption.WRITE);
    }

    /** The processes in it and in the groups below it, except this process. */
    Set<Long> pids() {
        Set<Long> pids = new HashSet<>();
        try (Stream<Path> groups = Files.walk(directory, MAX_DEPTH)) {
            for (Path group : groups.filter(Files::isDirectory).toList()) {
                pids.addAll(membersIfThere(group));
            }
        } catch (IOException | UncheckedIOException gone) {
            // A group below it was removed meanwhile: the next poll sees the rest.
            pids.addAll(membersIfThere(directory));
        }
        pids.remove(ownPid);
        return pids;
    }

    /** Whether the process is in it, not counting the groups below. */
    boolean contains(long pid) {
        return membersIfThere(directory).contains(pid);
    }

    private static Set<Long> membersIfThere(Path group) {
        try {
            return members(group);
        } catch (IOException gone) {
            return Set.of();
        }
    }

    private static Set<Long> members(Path group) throws IOException {
        Set<Long> pids = new HashSet<>();
        for (String line : Files.readAllLines(group.resolve(MEMBERS), StandardCharsets.US_ASCII)) {
            // Zero is a process that this pid namespace does not show.
            if (!line.isBlank() && !line.equals("0")) {
                pids.add(Long.parseLong(line));
            }
        }
        return pids;
    }

    /** Kills all processes in it at once, of any user, if the kernel supports it: version 2 from Linux 5.14. */
    void kill() {
        if (contains(ownPid)) {
            return;
        }
        try {
            Files.writeString(directory.resolve(KILL), "1", StandardOpenOption.WRITE);
        } catch (IOException cannot) {
            // Its members are signalled one by one as well.
        }
    }

    /** Removes it, unless a process that was allowed to stay is still in it: then a later run removes it. */
    void remove() {
        removeEmpty(directory);
    }

    private static void removeEmpty(Path group) {
        try (Stream<Path> below = Files.walk(group, MAX_DEPTH)) {
            for (Path directory : below.filter(Files::isDirectory)
                    .sorted(Comparator.reverseOrder())
                    .toList()) {
                Files.delete(directory);
            }
        } catch (NoSuchFileException gone) {
            // Removed already.
        } catch (IOException | UncheckedIOException inUse) {
            // A process is still in it.
        }
    }
}
