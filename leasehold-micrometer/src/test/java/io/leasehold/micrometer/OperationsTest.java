package io.leasehold.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.fencing.FencingGuard;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the shipped rules and the dashboard with promtool, and against the metrics of a real registry. */
@Tag("full")
class OperationsTest {

    private static final Path OPERATIONS =
            Path.of("..", "operations").toAbsolutePath().normalize();
    private static final Path DOCS = OPERATIONS.resolveSibling("docs");
    private static final Pattern METRIC = Pattern.compile("distributed_lock_[a-z_]+");
    private static final Pattern SELECTOR = Pattern.compile("(distributed_lock_[a-z_]+)\\{([^}]*)}");
    private static final Pattern LABEL = Pattern.compile("([a-z_]+)=~?!?\"|([a-z_]+)!=\"");
    private static final Pattern BY = Pattern.compile("by \\(([a-z_, ]+)\\)");
    private static final Pattern SERIES =
            Pattern.compile("^(distributed_lock_[a-z_]+)(?:\\{(.*)})? [-0-9.eE+NaIf]+$", Pattern.MULTILINE);

    /** The labels of each exposed metric. */
    private static final Map<String, Set<String>> EXPOSED = new TreeMap<>();

    @BeforeAll
    static void scrapeARealClient() throws Exception {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        LockMetrics metrics = LockMetrics.of(registry);
        metrics.counting(FencingGuard.inMemory(), "account:{id}");
        try (LockClient locks =
                Leasehold.builder().store("memory:").listener(metrics).connect()) {
            locks.named(LockName.of("order:{id}", 1)).acquire().close();
            metrics.leaksFound(locks.admin().leaks(Duration.ofMinutes(15)));
        }
        Matcher series = SERIES.matcher(registry.scrape());
        while (series.find()) {
            Set<String> labels = EXPOSED.computeIfAbsent(series.group(1), name -> new TreeSet<>());
            Matcher label = Pattern.compile("([a-z_]+)=\"").matcher(series.group(2) == null ? "" : series.group(2));
            while (label.find()) {
                labels.add(label.group(1));
            }
        }
        assertThat(EXPOSED).containsKeys("distributed_lock_wait_seconds_bucket", "distributed_lock_held");
    }

    @Test
    void promtoolAcceptsTheRulesAndTheirTests() throws Exception {
        promtool("check", "rules", "leasehold-rules.yml");
        promtool("test", "rules", "leasehold-rules-test.yml");
    }

    private static void promtool(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("promtool"));
        command.addAll(List.of(arguments));
        Process process;
        try {
            process = new ProcessBuilder(command)
                    .directory(OPERATIONS.toFile())
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            abort("no promtool on PATH (Debian: apt-get install prometheus): the rules are not tested");
            return;
        }
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
    }

    @Test
    void theRulesSpeakOfMetersThatExist() throws IOException {
        for (String expression : expressions(Files.readString(OPERATIONS.resolve("leasehold-rules.yml")))) {
            assertExposed(expression);
        }
    }

    private static List<String> expressions(String rules) {
        List<String> found = new ArrayList<>();
        Matcher matcher = Pattern.compile("expr: \\|\\n((?: {10,}.*\\n)+)").matcher(rules);
        while (matcher.find()) {
            found.add(matcher.group(1));
        }
        assertThat(found).hasSizeGreaterThan(5);
        return found;
    }

    @Test
    void theDashboardSpeaksOfMetersThatExistAndLeavesNoneOut() throws IOException {
        JsonNode dashboard = new ObjectMapper()
                .readTree(OPERATIONS.resolve("grafana-dashboard.json").toFile());
        Set<String> shown = new TreeSet<>();
        int queries = 0;
        for (JsonNode panel : dashboard.get("panels")) {
            assertThat(panel.get("title").asText()).isNotBlank();
            for (JsonNode link : panel.path("links")) {
                assertThat(DOCS.resolve(link.get("url").asText().replace("${docs}/", "")))
                        .exists();
            }
            for (JsonNode target : panel.get("targets")) {
                assertExposed(target.get("expr").asText());
                Matcher metric = METRIC.matcher(target.get("expr").asText());
                while (metric.find()) {
                    shown.add(family(metric.group()));
                }
                queries++;
            }
        }
        assertThat(queries).isGreaterThan(10);
        assertExposed(dashboard.at("/templating/list/1/query/query").asText());
        Set<String> families = new TreeSet<>();
        EXPOSED.keySet().forEach(name -> families.add(family(name)));
        assertThat(shown).isEqualTo(families);
    }

    private static String family(String metric) {
        return metric.replaceAll("(_seconds)?(_bucket|_count|_sum|_max|_total)$", "");
    }

    private static void assertExposed(String expression) {
        Matcher metric = METRIC.matcher(expression);
        Set<String> labels = new TreeSet<>();
        while (metric.find()) {
            assertThat(EXPOSED).as(expression).containsKey(metric.group());
            labels.addAll(EXPOSED.getOrDefault(metric.group(), Set.of()));
        }
        Matcher selector = SELECTOR.matcher(expression);
        while (selector.find()) {
            Matcher label = LABEL.matcher(selector.group(2));
            while (label.find()) {
                String name = label.group(1) != null ? label.group(1) : label.group(2);
                assertThat(EXPOSED.get(selector.group(1))).as(expression).contains(name);
            }
        }
        Matcher by = BY.matcher(expression);
        while (by.find()) {
            assertThat(labels).as(expression).contains(by.group(1).split(",\\s*"));
        }
    }

    /** The dashboard explains the values that begin with an underscore. */
    @Test
    void theDashboardExplainsTheValuesThatAreNoTemplates() throws IOException {
        JsonNode dashboard = new ObjectMapper()
                .readTree(OPERATIONS.resolve("grafana-dashboard.json").toFile());
        assertThat(dashboard.at("/templating/list").findValuesAsText("description"))
                .anySatisfy(said -> assertThat(said).contains(ResourceTag.EXACT, ResourceTag.OTHER));
        assertThat(dashboard.at("/panels/0/description").asText()).contains(ResourceTag.EXACT, ResourceTag.OTHER);
    }

    @Test
    void everyAlertHasItsRunbook() throws IOException {
        String rules = Files.readString(OPERATIONS.resolve("leasehold-rules.yml"));
        Matcher alert = Pattern.compile("- alert: (\\w+)").matcher(rules);
        Matcher runbook = Pattern.compile("runbook_url: LEASEHOLD_DOCS/(runbooks/[a-z-]+\\.md)")
                .matcher(rules);
        int alerts = 0;
        while (alert.find()) {
            assertThat(runbook.find(alert.end())).as(alert.group(1)).isTrue();
            Path page = DOCS.resolve(runbook.group(1));
            assertThat(page).exists();
            assertThat(Files.readString(page)).contains(alert.group(1));
            alerts++;
        }
        assertThat(alerts).isEqualTo(8);
    }

    @Test
    void theyTravelWithTheModule() {
        assertThat(LockMetrics.class.getResource("/io/leasehold/operations/leasehold-rules.yml"))
                .isNotNull();
        assertThat(LockMetrics.class.getResource("/io/leasehold/operations/grafana-dashboard.json"))
                .isNotNull();
    }
}
