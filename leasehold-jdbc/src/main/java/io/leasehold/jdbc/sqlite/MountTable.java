package io.leasehold.jdbc.sqlite;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The mounts that a process sees, as Linux lists them in {@code /proc/self/mountinfo}. Pure. Paths are given as their
 * bytes, each in one character, since not every path is text.
 */
final class MountTable {

    private static final int ID = 0;
    private static final int PARENT = 1;
    private static final int POINT = 4;
    private static final int FIRST_OPTIONAL = 6;
    private static final String END_OF_OPTIONAL = "-";

    private final Map<Long, List<Mount>> byParent = new HashMap<>();
    private final @Nullable Mount root;

    /**
     * One mount.
     *
     * @param point where it is mounted
     * @param type its file system
     */
    record Mount(long id, long parent, String point, String type) {

        boolean covers(String path) {
            return point.equals("/") || path.equals(point) || path.startsWith(point + "/");
        }
    }

    private MountTable(List<Mount> mounts) {
        Map<Long, Mount> byId = new HashMap<>();
        mounts.forEach(mount -> byId.put(mount.id(), mount));
        Mount first = null;
        for (Mount mount : mounts) {
            boolean hasParent = mount.parent() != mount.id() && byId.containsKey(mount.parent());
            if (hasParent) {
                byParent.computeIfAbsent(mount.parent(), id -> new ArrayList<>())
                        .add(mount);
            } else if (mount.point().equals("/")) {
                first = mount;
            }
        }
        this.root = first;
    }

    /** Parses the file; skips a line that it does not understand. */
    static MountTable parse(byte[] mountinfo) {
        List<Mount> mounts = new ArrayList<>();
        for (String line : new String(mountinfo, StandardCharsets.ISO_8859_1).split("\n", -1)) {
            Mount mount = mount(line.split(" ", -1));
            if (mount != null) {
                mounts.add(mount);
            }
        }
        return new MountTable(mounts);
    }

    private static @Nullable Mount mount(String[] fields) {
        int end = FIRST_OPTIONAL;
        while (end < fields.length && !fields[end].equals(END_OF_OPTIONAL)) {
            end++;
        }
        if (end + 1 >= fields.length) {
            return null;
        }
        try {
            return new Mount(
                    Long.parseLong(fields[ID]),
                    Long.parseLong(fields[PARENT]),
                    unescaped(fields[POINT]),
                    unescaped(fields[end + 1]));
        } catch (NumberFormatException e) {
            return null;
        }
    }

    /** Decodes blanks, line ends and backslashes, which are written as a backslash and three octal digits. */
    private static String unescaped(String field) {
        StringBuilder text = new StringBuilder(field.length());
        int at = 0;
        while (at < field.length()) {
            char c = field.charAt(at);
            if (c == '\\' && at + 4 <= field.length()) {
                text.append((char) Integer.parseInt(field.substring(at + 1, at + 4), 8));
                at += 4;
            } else {
                text.append(c);
                at++;
            }
        }
        return text.toString();
    }

    /**
     * The mount that contains this path, or null if it is unknown.
     *
     * @param path absolute, without symbolic links
     */
    @Nullable
    Mount of(String path) {
        Mount at = root;
        Mount next = root;
        // Like the kernel: of the mounts at this point, the path reaches the topmost one. Those below it are hidden.
        while (next != null) {
            at = next;
            next = null;
            for (Mount upon : byParent.getOrDefault(at.id(), List.of())) {
                boolean isHigher =
                        next == null || upon.point().length() < next.point().length();
                if (upon.covers(path) && isHigher) {
                    next = upon;
                }
            }
        }
        return at;
    }

    /** Whether something is mounted at this very path. */
    boolean isMountPoint(String path) {
        Mount mount = of(path);
        return mount != null && mount.point().equals(path);
    }
}
