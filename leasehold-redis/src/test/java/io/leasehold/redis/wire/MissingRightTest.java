package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.leasehold.StoreAccessException;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The message of a missing right, by how servers word it. */
@Tag("quick")
class MissingRightTest {

    private static final String IN_SCRIPT = "ERR The user executing the script can't ";
    private static final String NEWER = "ERR ACL failure in script: ";

    /** In a script Redis up to 7.0 does not name the command, which the script adds; Redis 7.2 and later, and Valkey, say NEWER. */
    private static List<Arguments> refusals() {
        return List.of(
                arguments("NOPERM this user has no permissions to run the 'config|get' command", "+config|get"),
                arguments("NOPERM this user has no permissions to run the 'ping' command or its subcommand", "+ping"),
                arguments("NOPERM User key channel has no permissions to run the 'ping' command", "+ping"),
                arguments("NOPERM this user has no permissions to access one of the keys used as arguments", "~lock:*"),
                arguments(
                        "NOPERM this user has no permissions to access one of the channels used as arguments",
                        "&lock:wake:*"),
                arguments(IN_SCRIPT + "run this command or subcommand (at the 'zadd' command)", "+zadd"),
                arguments(
                        "@user_script: 3: The user executing the script can't run this command or subcommand"
                                + " (at the 'zadd' command)",
                        "+zadd"),
                arguments(
                        IN_SCRIPT + "publish to the channel mentioned in the command (at the 'publish' command)",
                        "&lock:wake:*"),
                arguments(
                        IN_SCRIPT + "access at least one of the keys mentioned in the command arguments"
                                + " (at the 'set' command)",
                        "~lock:*"),
                arguments(NEWER + "User app has no permissions to run the 'zadd' command", "+zadd"),
                arguments(NEWER + "No permissions to access a key (at the 'set' command)", "~lock:*"),
                arguments(NEWER + "No permissions to access a channel (at the 'publish' command)", "&lock:wake:*"));
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void theRuleIsTheOneThatGrantsIt(String refusal, String rule) {
        Failure failure = new RedisErrors("the server").answered(refusal, "acquire lock \"x\"");

        assertThat(failure.error())
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("ACL SETUSER <user> " + rule + ". ");
    }

    /** Where a server does not name the command, its line has to: so there is one call on a line at most. */
    @Test
    void noLineOfAScriptCallsTwoCommands() {
        Pattern call = Pattern.compile("redis\\.p?call\\(");
        for (LuaScript script : LuaScript.all()) {
            assertThat(script.text()
                            .lines()
                            .filter(line -> call.matcher(line).results().count() > 1))
                    .as("%s", script)
                    .isEmpty();
            assertThat(LuaScript.withDigest(script.sha1())).isSameAs(script);
        }
    }
}
