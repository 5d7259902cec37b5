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
 * A control group of one run's own, below the one this process is in. What is started in it stays in it, whatever its session,
 * parent, user and environment: only a process with the right to write to the control groups can take one out.
 *
 * <p>A process that is being started belongs where its parent is at that moment. So this process {@linkplain #enter enters},
 * starts the command, and {@linkplain #leave leaves}: the command never runs outside.
 *
 * <p>Taken is the unified hierarchy (version 2), else one of version 1; in both a member is moved and listed by the same file.
 * For one thread, but for {@link #pids}, {@link #kill} and {@link #contains}, which any may call.
 */
final class ControlGroup {

    /** How the directories of our groups begin; behind it the process that made it, its start, and the run. */
    static final String PREFIX = "leasehold-";

    private static final String MEMBERS = "cgroup.procs";
    private static final String KILL = "cgroup.kill";

    /** Of version 1: those in which a group of one's own changes nothing else for its members. */
    private static final List<String> OLD_HIERARCHIES = List.of("freezer", "pids", "name=systemd");

    private static final int MAX_DEPTH = 16;

    private final Path home;
    private final Path directory;
    private final long ownPid = ProcessHandle.current().pid();

    private ControlGroup(Path home, Path directory) {
        this.home = home;
        this.directory = directory;
    }

    /** Makes one for this run, or says by null that none can be had: none is mounted, or this user may not make one. */
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

    /** Where these mounts show the group with this path; a mount may show a part of the hierarchy only. */
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

    /** Whether one can go in and out again; tells it before anything depends on it. */
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

    /** Removes what other runs have left, whose processes have all ended. */
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
            // A name like ours that is not one of ours: left alone.
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
            // By works(), unless a process in another pid namespace swept it away meanwhile.
        }
        move(directory);
    }

    /** Moves this process back to where it was; its threads, too. */
    void leave() throws IOException {
        move(home);
    }

    private void move(Path group) throws IOException {
        Files.writeString(group.resolve(MEMBERS), Long.toString(ownPid), StandardOpenOption.WRITE);
    }

    /** Those in it and in the groups below it, but for this process. */
    Set<Long> pids() {
        Set<Long> pids = new HashSet<>();
        try (Stream<Path> groups = Files.walk(directory, MAX_DEPTH)) {
            for (Path group : groups.filter(Files::isDirectory).toList()) {
                pids.addAll(membersIfThere(group));
            }
        } catch (IOException | UncheckedIOException gone) {
            // A group below it was removed under our eyes: the next look sees what is left.
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
            // Zero stands for a process that this pid namespace does not show.
            if (!line.isBlank() && !line.equals("0")) {
                pids.add(Long.parseLong(line));
            }
        }
        return pids;
    }

    /** Kills all in it at once, whichever user they run as, where the kernel can: version 2 from Linux 5.14. */
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

    /** Removes it, unless a process that was allowed to stay is still in it: then a later run does. */
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
            // As it should be.
        } catch (IOException | UncheckedIOException inUse) {
            // A process is still in it.
        }
    }
}
