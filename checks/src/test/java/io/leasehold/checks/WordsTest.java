package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Sources name the process, client, holder, caller or operator: see "How we write" in {@code CONTRIBUTING.md}. */
@Tag("quick")
class WordsTest {

    /** The modules without these words; the list only grows. */
    private static final List<Module> CLEAN = List.of(
            Module.CORE, Module.CLI, Module.DEMO, Module.KOTLIN, Module.MICROMETER, Module.REACTOR, Module.SERVERS);

    private static final Pattern VAGUE =
            Pattern.compile("\\b(whoever|somebody|for\\s+(?:\\*\\s+|//\\s+)?people)\\b", Pattern.CASE_INSENSITIVE);

    @Test
    void sourcesNameTheRoleAndNotSomebody() {
        List<String> found = new ArrayList<>();
        for (Module module : CLEAN) {
            List<Path> files = module.sourceFiles();
            assertThat(files).as("sources of " + module).isNotEmpty();
            for (Path file : files) {
                Matcher matcher = VAGUE.matcher(Module.read(file));
                while (matcher.find()) {
                    found.add(Module.shown(file) + ": " + matcher.group());
                }
            }
        }
        assertThat(found)
                .as("say process, client, holder, caller, attempt, thread, waiter or operator; for logs and messages")
                .isEmpty();
    }
}
