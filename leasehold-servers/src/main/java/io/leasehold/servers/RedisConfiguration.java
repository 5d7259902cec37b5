package io.leasehold.servers;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The lines of one server's {@code redis.conf}: first those of the launcher, then those of the user.
 *
 * <p>If the user sets passwords or ACL users, the launcher adds its own user, {@code leasehold-launcher}, so that it can
 * administer the server independent of the rights of the others; an unprotected server keeps its one default user.
 */
final class RedisConfiguration {
    private static final Set<String> OWN = Set.of(
            "port",
            "unixsocket",
            "bind",
            "dir",
            "daemonize",
            "logfile",
            "pidfile",
            "aclfile",
            "include",
            "requirepass",
            "user",
            "supervised");

    private final List<String> userLines;
    private final @Nullable String password;
    private final RedisProcess.@Nullable Credentials launcher;

    private RedisConfiguration(
            List<String> userLines, @Nullable String password, RedisProcess.@Nullable Credentials launcher) {
        this.userLines = userLines;
        this.password = password;
        this.launcher = launcher;
    }

    @Nullable
    String password() {
        return password;
    }

    RedisProcess.@Nullable Credentials launcher() {
        return launcher;
    }

    List<String> lines(int port, Path directory, ServerVersion version) {
        List<String> lines = new ArrayList<>(List.of(
                "bind 127.0.0.1",
                "port " + port,
                "dir " + quote(directory.toString()),
                "daemonize no",
                "save \"\"",
                "appendonly no",
                // A replica is in step at once instead of after the default wait for further replicas.
                "repl-diskless-sync-delay 0"));
        if (version.isAtLeast(7, 0)) {
            lines.add("enable-debug-command yes");
        }
        lines.addAll(userLines);
        if (launcher != null) {
            lines.add("user " + launcher.user() + " on >" + launcher.password() + " ~* &* +@all");
            lines.add("masteruser " + launcher.user());
            lines.add("masterauth " + launcher.password());
        }
        return lines;
    }

    static String quote(String value) {
        return '"' + value.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    /** Checks and collects the user's configuration. */
    static final class Collector {
        private final List<String> lines = new ArrayList<>();
        private @Nullable String password;
        private RedisProcess.@Nullable Credentials launcher;
        private boolean protectedByUsers;

        void line(String line) {
            String directive =
                    refuseLineBreaks(line).strip().split("\\s+", 2)[0].toLowerCase(Locale.ROOT);
            if (directive.isEmpty() || OWN.contains(directive)) {
                throw new IllegalArgumentException("configuration line '" + line + "' is refused: "
                        + (directive.isEmpty() ? "it is empty" : "'" + directive + "' is set by the launcher"));
            }
            lines.add(line);
        }

        void password(String newPassword) {
            if (newPassword.isEmpty()) {
                throw new IllegalArgumentException("the password must not be empty");
            }
            password = refuseLineBreaks(newPassword);
        }

        void user(String name, String rules) {
            if (name.isBlank() || name.contains(" ")) {
                throw new IllegalArgumentException("'" + name + "' is no user name: it must not hold spaces");
            }
            lines.add("user " + refuseLineBreaks(name) + " " + refuseLineBreaks(rules));
            protectedByUsers = true;
        }

        void launcher(RedisProcess.Credentials credentials) {
            launcher = credentials;
        }

        RedisConfiguration finish() {
            List<String> all = new ArrayList<>(lines);
            if (password != null) {
                all.add("requirepass " + quote(password));
            }
            boolean needsLauncher = password != null || protectedByUsers;
            return new RedisConfiguration(List.copyOf(all), password, needsLauncher ? launcherOrNew() : null);
        }

        private RedisProcess.Credentials launcherOrNew() {
            return launcher == null ? RedisProcess.Credentials.random() : launcher;
        }

        private static String refuseLineBreaks(String text) {
            if (text.chars().anyMatch(c -> c < ' ')) {
                throw new IllegalArgumentException("configuration must not hold control characters or line breaks");
            }
            return text;
        }
    }
}
