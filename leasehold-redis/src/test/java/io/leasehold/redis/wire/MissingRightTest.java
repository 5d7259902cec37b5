package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.leasehold.StoreAccessException;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of the message for a missing right, for each wording of the servers. */
@Tag("quick")
class MissingRightTest {

    private static final String IN_SCRIPT = "ERR The user executing the script can't ";
    private static final String NEWER = "ERR ACL failure in script: ";

    /**
     * In a script, Redis up to 7.0 does not name the command, so the script adds it. Redis 7.2 and later, and Valkey,
     * use the wording NEWER.
     */
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

    /** If a server does not name the command, the line must identify it, so a line has at most one call. */
    @Test
    void noLineOfAScriptCallsTwoCommands() {
        Pattern call = Pattern.compile("\\bp?call\\(");
        for (LuaScript script : LuaScript.all()) {
            assertThat(script.text()
                            .lines()
                            .filter(line -> call.matcher(line).results().count() > 1))
                    .as("%s", script)
                    .isEmpty();
            assertThat(LuaScript.withDigest(script.sha1())).isSameAs(script);
        }
    }

    /** Redis 7.0 names the digest of a script and a line, but not the command. */
    @Test
    void aLineOfAScriptTellsTheCommand() {
        Pattern call = Pattern.compile("\\bp?call\\('([A-Z]+)'");
        for (LuaScript script : LuaScript.all()) {
            List<String> lines = script.text().lines().toList();
            for (int number = 0; number <= lines.size() + 1; number++) {
                String refusal = "ERR can't (call to f_" + script.sha1() + "): @user_script: " + number + ": no";
                Matcher called = call.matcher(number == 0 || number > lines.size() ? "" : lines.get(number - 1));
                MissingRight right = MissingRight.in(refusal, "~k", "&c");
                if (called.find()) {
                    String command = called.group(1);
                    assertThat(right)
                            .isEqualTo(new MissingRight("run " + command, "+" + command.toLowerCase(Locale.ROOT)));
                } else {
                    assertThat(right).as("%s, line %s", script, number).isNull();
                }
            }
            assertThat(MissingRight.in("ERR f_" + script.sha1() + " no line", "~k", "&c"))
                    .isNull();
        }
        assertThat(MissingRight.in("ERR f_" + "0".repeat(40) + ": @user_script: 3: no", "~k", "&c"))
                .isNull();
        assertThat(MissingRight.in("ERR @user_script: 3: no", "~k", "&c")).isNull();
        assertThat(LuaScript.withDigest("0".repeat(40))).isNull();
    }

    @Test
    void whatIsMissingIsNamed() {
        assertThat(MissingRight.in("NOPERM access a channel", "~k", "&c"))
                .isEqualTo(new MissingRight("use the channels of c", "&c"));
        assertThat(MissingRight.in("NOPERM access a key", "~k", "&c"))
                .isEqualTo(new MissingRight("use the keys of locks", "~k"));
        assertThat(MissingRight.in("NOPERM no", "~k", "&c")).isNull();
    }

    /**
     * With half of the requests in flight, no more requests for locks are sent, so each script must say whether it
     * requests locks.
     */
    @Test
    void someScriptsAskForLocks() {
        assertThat(LuaScript.all().stream().filter(LuaScript::asksForLocks).map(LuaScript::toString))
                .containsExactlyInAnyOrder(
                        "acquire.lua",
                        "acquire_all.lua",
                        "resume.lua",
                        "member_acquire.lua",
                        "member_read_acquire.lua",
                        "plain_acquire.lua",
                        "read_acquire.lua",
                        "permits_acquire.lua");
        assertThat(LuaScript.all()).hasSize(42);
    }
}
