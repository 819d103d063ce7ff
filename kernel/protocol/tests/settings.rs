//! Settings: their words, their ranges, and where they come from.

use protocol::settings::{Asker, KvType, Layers, SettingError};
use protocol::{Setting, Settings};

#[test]
fn every_setting_reads_back_what_it_shows() {
    let settings = Settings {
        system: Some("be brief".into()),
        model: Some("a b.gguf".into()),
        seed: Some(5),
        speculate: 3,
        baud: Some(9600),
        ..Settings::default()
    };
    for settings in [settings, Settings::default()] {
        for &setting in Setting::ALL {
            let mut text = String::new();
            settings
                .show(setting, &mut text)
                .expect("a String takes everything");
            if text == "-" {
                continue;
            }
            let mut again = settings.clone();
            assert_eq!(again.set(setting.key(), &text), Ok(setting), "{text}");
            assert_eq!(again, settings, "{}", setting.key());
        }
    }
}

#[test]
fn values_out_of_range_change_nothing() {
    let mut settings = Settings::default();
    for (key, value) in [
        ("temperature", "-1"),
        ("temperature", "NaN"),
        ("temperature", "hot"),
        ("top_p", "0"),
        ("top_k", "-3"),
        ("cores", "5"),
        ("cores", "0"),
        ("seed", "x"),
        ("kv", "f64"),
        ("kernels", "fast"),
        ("stats", "maybe"),
        ("baud", "300"),
        ("max_tokens", "0"),
        ("speculate", "8"),
        ("guess", "-1"),
        ("guess", "some"),
    ] {
        let error = settings.set(key, value).expect_err(key);
        assert!(matches!(error, SettingError::BadValue { .. }), "{error}");
    }
    assert!(matches!(
        settings.set("heat", "1"),
        Err(SettingError::Unknown { .. })
    ));
    assert_eq!(settings, Settings::default());
}

#[test]
fn speculation_is_a_number_or_a_word_under_both_names() {
    let mut settings = Settings::default();
    for (word, n) in [
        ("on", 7),
        ("3", 3),
        ("1", 1),
        ("off", 0),
        ("yes", 7),
        ("0", 0),
    ] {
        for key in ["speculate", "guess", "GUESS"] {
            assert_eq!(settings.set(key, word), Ok(Setting::Speculate));
            assert_eq!(settings.speculate, n, "{word}");
        }
    }
}

#[test]
fn kernel_sets_keep_their_old_words() {
    for (old, new) in [
        ("scalar", "reference"),
        ("plain", "dequantize"),
        ("tuned", "int8"),
    ] {
        let [of_old, of_new] = [old, new].map(|word| {
            let mut settings = Settings::default();
            settings.set("kernels", word).expect(word);
            settings
        });
        assert_eq!(of_old, of_new);
        assert_eq!(of_new.kernels.to_string(), new);
    }
}

#[test]
fn the_command_line_of_a_pi_is_full_of_other_words() {
    let mut settings = Settings::default();
    let mut errors = Vec::new();
    settings.apply_command_line(
        "coherent_pool=1M snd_bcm2835.enable_hdmi=1 pilm.cores=2 pilm.system=\"You are brief.\" pilm.quiet \
         pilm.nonsense=1 console=ttyS0,115200\0",
        &mut |error| errors.push(error),
    );
    assert_eq!(settings.cores, Some(2));
    assert_eq!(settings.system.as_deref(), Some("You are brief."));
    assert!(settings.quiet);
    let key = "nonsense".into();
    assert_eq!(errors, [SettingError::Unknown { key }]);
}

#[test]
fn an_open_quote_takes_no_other_words() {
    let mut settings = Settings::default();
    let mut errors = Vec::new();
    settings.apply_command_line("pilm.system=\"a b pilm.cores=2\0", &mut |error| {
        errors.push(error)
    });
    assert_eq!((settings.system, settings.cores), (None, Some(2)));
    let word = "pilm.system=\"a".into();
    assert_eq!(errors, [SettingError::OpenQuote { word }]);
}

#[test]
fn a_file_written_on_windows() {
    let mut settings = Settings::default();
    let mut errors = Vec::new();
    settings.apply_file(
        "\u{FEFF}# PiLM\r\nmodel = Smol LM.gguf\r\n\r\nTop-K=5\r\nkv = F16\r\nsystem =\r\nwhat is this\r\n",
        &mut |error| errors.push(error),
    );
    assert_eq!(settings.model.as_deref(), Some("Smol LM.gguf"));
    assert_eq!(settings.top_k, 5);
    assert_eq!(settings.kv, Some(KvType::F16));
    assert_eq!(settings.system.as_deref(), Some(""));
    assert_eq!(errors, [SettingError::NoEquals { line: 7 }]);
}

#[test]
fn a_persons_answers_are_sampled_and_a_programs_greedy_until_somebody_sets_them() {
    let both = |pairs: &[(&str, &str)]| {
        let mut settings = Settings::default();
        for (key, value) in pairs {
            settings.set(key, value).expect(key);
        }
        [Asker::Person, Asker::Program].map(|asker| {
            let temperature = settings.temperature_for(asker);
            (temperature, settings.repeat_penalty_for(asker))
        })
    };
    assert_eq!(both(&[]), [(0.7, 1.05), (0.0, 1.0)]);
    assert_eq!(both(&[("temperature", "0")]), [(0.0, 1.0); 2]);
    assert_eq!(both(&[("temperature", "0.4")]), [(0.4, 1.05), (0.4, 1.0)]);
    assert_eq!(both(&[("repeat_penalty", "1")]), [(0.7, 1.0), (0.0, 1.0)]);
    assert_eq!(both(&[("repeat_penalty", "1.3")]), [(0.7, 1.3), (0.0, 1.3)]);
    let given_back = [("temperature", "0"), ("temperature", "default")];
    assert_eq!(both(&given_back), both(&[]));
}

#[test]
fn sections_hold_for_the_models_that_they_name() {
    let mut settings = Settings::default();
    let mut errors = Vec::new();
    let text = "max_tokens = 100\ntop_k = 30\n[Qwen3]\ntemperature = 0.6\n\n# thinks\ntop_k = 20\nthink = on\n\
                [qwen3-0.6B.q8]\ntop_k = 5\nsystem = \"be brief\"\n[Smol]\ntemperature = 0\n";
    let sections = settings.apply_file(text, &mut |error| errors.push(error));
    assert_eq!(errors, []);
    assert_eq!((settings.top_k, settings.temperature), (30, None));
    let mut layers = Layers::new(settings.clone(), sections);
    assert_eq!(layers.for_model("Llama.gguf"), settings);
    assert_eq!(layers.for_model("Qwen"), settings);
    let small = layers.for_model("Qwen3-0.6B.Q4_0.gguf");
    let expected = Settings {
        temperature: Some(0.6),
        top_k: 20,
        think: true,
        ..settings.clone()
    };
    assert_eq!(small, expected);
    let both = layers.for_model("QWEN3-0.6B.Q8_0.gguf");
    assert_eq!((both.top_k, both.temperature), (5, Some(0.6)));
    assert_eq!(both.system.as_deref(), Some("be brief"));
    assert_eq!(layers.for_model("smollm2.gguf").temperature, Some(0.0));
    // what is set by hand holds for the next model too, in its last value
    let mut once = layers.clone();
    once.note(Setting::Temperature, "0.9");
    layers.note(Setting::Temperature, "1");
    layers.note(Setting::Temperature, "0.9");
    // only the last value takes memory
    assert_eq!(layers, once);
    assert_eq!(layers.for_model("smollm2.gguf").temperature, Some(0.9));
    layers.note(Setting::Temperature, "default");
    assert_eq!(layers.for_model("smollm2.gguf").temperature, None);
}

#[test]
fn what_no_section_can_have_is_named() {
    let mut settings = Settings::default();
    let mut errors = Vec::new();
    let text = "[A]\nquiet = on\ncolumns = 90\nstats = off\nbaud = 9600\nheat = 1\ntop_k = -1\ncontext = 64\n\
                [B\ntop_k = 7\n[]\ntop_k = 8\n";
    let sections = settings.apply_file(text, &mut |error| errors.push(error));
    assert_eq!(settings, Settings::default());
    let not_of_model = |setting| SettingError::NotOfModel { setting };
    let value = "-1".into();
    let setting = Setting::TopK;
    let expected = [
        not_of_model(Setting::Quiet),
        not_of_model(Setting::Columns),
        not_of_model(Setting::Stats),
        not_of_model(Setting::Baud),
        SettingError::Unknown { key: "heat".into() },
        SettingError::BadValue { setting, value },
        SettingError::NoName { line: 9 },
        SettingError::NoName { line: 11 },
    ];
    assert_eq!(errors, expected);
    let layers = Layers::new(settings, sections);
    let expected = Settings {
        context: Some(64),
        ..Settings::default()
    };
    assert_eq!(layers.for_model("a.gguf"), expected);
    assert_eq!(layers.for_model("B.gguf"), Settings::default());
}
