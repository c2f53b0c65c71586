// The app: one screen, and one launch of the runner, in a thread of its own.
#import <UIKit/UIKit.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "../placement.h"
#include "../protocol/app_protocol.h"
#include "core_ml_plans.h"
#include "machine.h"
#include "phone_state.h"
#include "runner.h"
#include "runtime_log.h"

namespace {

constexpr int64_t kPatience = 10 * NSEC_PER_SEC; // until it is in the foreground
constexpr NSUInteger kStack = 8 << 20; // bytes: as much as a program's main thread has elsewhere

std::atomic<bool> is_active{false};
std::atomic<bool> was_active_throughout{true};
std::atomic<bool> is_running{false};

// The runner's words. Where the command line of a program was given as a whole, its first word is that program's path.
std::vector<std::string> runner_words() {
  NSArray<NSString*>* const arguments = NSProcessInfo.processInfo.arguments;
  std::vector<std::string> words;
  for (NSString* argument in arguments) {
    words.push_back(argument.UTF8String ?: "");
  }
  if (words.size() > 1 && words[1].compare(0, 1, "-") != 0) {
    words.erase(words.begin());
  }
  return words;
}

void print_placement(const executorch::runtime::MethodMeta& method) {
  std::vector<std::string> backends;
  for (size_t i = 0; i < method.num_backends(); ++i) {
    const auto name = method.get_backend_name(i);
    backends.emplace_back(name.ok() ? name.get() : "unknown");
  }
  for (const std::string& line : app::describe_placement(backends, app::read_core_ml_plans())) {
    std::printf("%s\n", line.c_str());
  }
}

int run_runner() {
  const std::vector<std::string> words = runner_words();
  std::vector<const char*> argv;
  for (const std::string& word : words) {
    argv.push_back(word.c_str());
  }
  const int count = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  return runner::run_program(count, argv.data(), print_placement);
}

void serve() {
  runner::call_before_giving_up(app::finish_early);
  app::remember_core_ml_models();
  NSBundle* const bundle = NSBundle.mainBundle;
  NSString* const version = [bundle objectForInfoDictionaryKey:@"CFBundleVersion"];
  app::Surroundings surroundings;
  surroundings.container = NSHomeDirectory().fileSystemRepresentation;
  surroundings.executable = bundle.executablePath.fileSystemRepresentation;
  surroundings.version = version.UTF8String ?: "";
  surroundings.read_state = app::read_phone_state;
  surroundings.run = run_runner;
  surroundings.peak_memory_bytes = [] { return runner::memory().peak_bytes; };
  surroundings.was_in_foreground = [] { return std::optional(was_active_throughout.load()); };
  _exit(app::serve(surroundings) ? 0 : 1); // without destructors: delegates may still have threads
}

// Once, in the foreground, or after a while without it, which the result then says.
void start_runner() {
  if (is_running.exchange(true)) {
    return;
  }
  was_active_throughout = is_active.load();
  NSThread* const thread = [[NSThread alloc] initWithBlock:^{
    serve();
  }];
  thread.stackSize = kStack;
  thread.qualityOfService = NSQualityOfServiceUserInteractive; // that of a main thread
  [thread start];
}

} // namespace

@interface SceneDelegate : UIResponder <UIWindowSceneDelegate>
@property(nonatomic, strong) UIWindow* window;
@end

@implementation SceneDelegate

- (void)scene:(UIScene*)scene
    willConnectToSession:(UISceneSession*)session
                 options:(UISceneConnectionOptions*)options {
  UILabel* const label = [[UILabel alloc] init];
  label.text = app::is_started_by_harness() ? @"Measuring" : @"This app is started by edge-harness.";
  label.textAlignment = NSTextAlignmentCenter;
  label.backgroundColor = UIColor.systemBackgroundColor;
  UIViewController* const controller = [[UIViewController alloc] init];
  controller.view = label;
  self.window = [[UIWindow alloc] initWithWindowScene:static_cast<UIWindowScene*>(scene)];
  self.window.rootViewController = controller;
  [self.window makeKeyAndVisible];
}

- (void)sceneDidBecomeActive:(UIScene*)scene {
  is_active = true;
  if (app::is_started_by_harness()) {
    start_runner();
  }
}

- (void)sceneWillResignActive:(UIScene*)scene {
  is_active = false;
  was_active_throughout = false;
}

@end

@interface AppDelegate : UIResponder <UIApplicationDelegate>
@end

@implementation AppDelegate

- (BOOL)application:(UIApplication*)application didFinishLaunchingWithOptions:(NSDictionary*)options {
  application.idleTimerDisabled = YES;
  if (app::is_started_by_harness()) {
    dispatch_after(dispatch_time(DISPATCH_TIME_NOW, kPatience), dispatch_get_main_queue(), ^{
      start_runner();
    });
  }
  return YES;
}

@end

int main(int argc, char** argv) {
  @autoreleasepool {
    return UIApplicationMain(argc, argv, nil, NSStringFromClass([AppDelegate class]));
  }
}
